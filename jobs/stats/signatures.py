"""Errors that differ only in numbers and ids, told as one."""

from __future__ import annotations

import re

from django.db.models.functions import Left

from ..exceptions import InvalidJob
from ..models.queryset import JobQuerySet

CHARS = 200
ANY = "…"

# A word with a digit in it: a number, an id, a hash. ANY counts as a digit, so
# that a signature is its own signature, and ANY never touches a word.
_WORD = rf"[0-9A-Za-z_{ANY}-]*[0-9{ANY}][0-9A-Za-z_{ANY}-]*"
_ID = re.compile(_WORD)
_NAME = r"[A-Z][0-9A-Za-z_]*(?:Error|Exception)(?=:|\Z)"
_CLASS = re.compile(_NAME)


def signature_of(error: str) -> str:
    """Return the beginning of an error with "…" for every number and id; the name of an exception stays whole."""
    beginning = error[:CHARS]
    named = _CLASS.match(beginning)
    head = named[0] if named else ""
    return head + _ID.sub(ANY, beginning[len(head) :])


def check_signature(text: str) -> None:
    """Raise ``InvalidJob`` for what no error has as its signature."""
    if "\0" in text or len(text) > CHARS or signature_of(text) != text:
        raise InvalidJob(f"{text!r} is no signature of an error.")


def with_signature(jobs: JobQuerySet, signature: str) -> JobQuerySet:
    """Filter to the jobs whose error has this signature. It reads each row: narrow ``jobs`` down before."""
    # Understood alike by Python, for SQLite, and by PostgreSQL.
    pattern = _WORD.join(re.escape(part) for part in signature.split(ANY))
    unnamed = "" if _CLASS.match(signature) else f"(?!{_NAME})"
    return jobs.alias(error_beginning=Left("error", CHARS)).filter(error_beginning__regex=rf"\A{unnamed}{pattern}\Z")
