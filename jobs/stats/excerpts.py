"""Parts of large texts, cut by the database, so that no row can fill the memory of whoever looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Left, Length, Right

MOST_CHARS = 16_384

# What of a job is read by parts only, or for its own page.
LARGE_COLUMNS = ("args", "payload", "result", "metadata", "progress", "log")

Rows = TypeVar("Rows", bound=QuerySet[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A part of a text, and how many characters the whole has."""

    text: str = ""
    chars: int = 0

    @property
    def missing(self) -> int:
        return self.chars - len(self.text)

    def __bool__(self) -> bool:
        return bool(self.text)


EMPTY = Excerpt()


def with_beginnings(rows: Rows, *names: str) -> Rows:
    """Leave these columns in the database, but for their first ``MOST_CHARS`` characters, for ``excerpt``."""
    return _with_parts(rows, Left, names)


def with_ends(rows: Rows, *names: str) -> Rows:
    """Do so with their last characters: the end of a log or a traceback tells more than its beginning."""
    return _with_parts(rows, Right, names)


def _with_parts(rows: Rows, part: Any, names: tuple[str, ...]) -> Rows:
    texts = {name: Cast(name, TextField()) for name in names}
    parts = {f"{name}_part": part(text, MOST_CHARS) for name, text in texts.items()}
    sizes = {f"{name}_chars": Length(text) for name, text in texts.items()}
    return rows.annotate(**parts, **sizes).defer(*names)


def excerpt(row: Any, name: str) -> Excerpt:
    """Return what came of column ``name`` in a row of such a queryset."""
    return Excerpt(text=getattr(row, f"{name}_part") or "", chars=getattr(row, f"{name}_chars") or 0)
