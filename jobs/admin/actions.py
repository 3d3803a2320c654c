"""What people can do to rows: its words, its permission, what stands against it, and what it asks first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from .. import registry
from ..reports import Sentence
from .forms import ReasonForm

Text = str | Promise


def _nothing(row: Any) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """
    One thing people do, to the rows ticked in a list or to the row of a page.

    ``command`` has %(rows)s for what it is done to. ``run`` gets the rows, the
    ``actor`` and what the form holds. ``why_not`` says what stands against
    it for a row, or nothing. What ``asks`` has a page of its own before it is
    done; from a list everything has. What ``starts`` a job minds the
    permission of its kind.
    """

    name: str
    permission: str
    label: Text
    command: Text
    run: Callable[..., Iterable[Sentence]]
    why_not: Callable[[Any], Text]
    form: type[ReasonForm] = ReasonForm
    initial: Callable[[Any], dict[str, Any]] = _nothing
    hint: Text = ""
    warning: Text = ""
    asks: bool = True
    is_danger: bool = False
    starts: bool = False

    def on(self, rows: Text) -> str:
        """Return the command, with what it is done to."""
        return str(self.command) % {"rows": rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """
    A button on the page of one row. ``why_not`` says what stands against it,
    and is empty if nothing does; what ``asks`` is a link to a page.
    """

    name: str
    label: Text
    url: str
    why_not: Text = ""
    asks: bool = False
    is_danger: bool = False


def kind_why_not(request: HttpRequest, kind: str) -> Text:
    """Return what stands against this user's starting jobs of ``kind``, or nothing."""
    definition = registry.find(kind)
    permission = definition.options.permission if definition else None
    if permission is None or request.user.has_perm(permission):
        return ""
    return _("Whoever starts jobs of this kind needs the permission %s.") % permission
