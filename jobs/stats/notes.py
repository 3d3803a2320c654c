"""What the engine and its exceptions write down of a job's end, in the language of whoever reads it."""

from __future__ import annotations

import re

from django.utils.translation import gettext

from ..exceptions import Cancel, Discard, Retry
from ..outcomes import NOTES

_NAME = re.compile(r"%\((\w+)\)s")


def translated_note(text: str) -> str:
    """Return a stored error in the present language if it is one of our own; what a handler wrote stays as it is."""
    for note, pattern in _PATTERNS:
        if found := pattern.fullmatch(text):
            return gettext(note) % found.groupdict()
    return text


def _pattern(note: str) -> re.Pattern[str]:
    """Return what finds the values in a note that was made of this text."""
    parts = _NAME.split(note)
    return re.compile("".join(f"(?P<{part}>.+)" if odd % 2 else re.escape(part) for odd, part in enumerate(parts)))


_PATTERNS = [(note, _pattern(note)) for note in (*NOTES, *(str(verb()) for verb in (Retry, Discard, Cancel)))]
