"""What a job was given and what it gave back: masked, and of something large only the beginning."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import router

from .. import payload
from ..models import Job
from . import beginnings
from .excerpts import Excerpt, excerpt, with_beginnings
from .masking import masked, masked_args

NAMES = ("args", "payload", "result", "progress", "metadata")
NOTHING: tuple[Any, ...] = (None, [], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    A JSON value of a job. ``chars`` is how long the whole is as text.

    ``is_masked`` says that something in it is hidden, ``is_cut`` that
    something is missing, which is shown as "…".
    """

    name: str
    value: Any
    chars: int
    is_cut: bool
    is_masked: bool


def documents(job: Job, *, unmasked: bool = False) -> list[Document]:
    """Return those documents of ``job`` that have something in them (one query)."""
    jobs = Job.objects.using(job._state.db or router.db_for_write(Job)).filter(pk=job.pk)
    row = with_beginnings(jobs.only("kind"), *NAMES).first()
    if row is None:
        return []
    found = (_document(name, row, unmasked=unmasked) for name in NAMES)
    return [document for document in found if document.value not in NOTHING]


def _document(name: str, row: Any, *, unmasked: bool) -> Document:
    written = excerpt(row, name)
    value = _read(written)
    shown = value if unmasked else _masked(name, row.kind, value)
    is_cut = written.missing > 0 or value is beginnings.CUT
    return Document(name=name, value=shown, chars=written.chars, is_cut=is_cut, is_masked=bool(shown != value))


def _read(written: Excerpt) -> Any:
    if not written:
        return None
    try:
        value = beginnings.parsed(written.text) if written.missing > 0 else json.loads(written.text)
    except RecursionError:
        return beginnings.CUT
    # Somebody wrote it past the checks: what hides values in it could not walk through it.
    return beginnings.CUT if payload.is_too_deep(value) else value


def _masked(name: str, kind: str, value: Any) -> Any:
    return masked_args(kind, value) if name == "args" and isinstance(value, list) else masked(value)
