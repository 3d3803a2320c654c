"""Times, people and reasons, as sentences have them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.text import Truncator
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from ..durations import spoken
from ..models import JobEvent

REASON_CHARS = 200

Sentences = Iterator[str]


def named(at: datetime, now: datetime) -> str:
    """Return a time in the present zone, which it names; without the day if that is today's."""
    local, today = (localtime(moment) if is_aware(moment) else moment for moment in (at, now))
    pattern = "%H:%M:%S %Z" if local.date() == today.date() else "%Y-%m-%d %H:%M:%S %Z"
    return local.strftime(pattern).strip()


def between(earlier: datetime, later: datetime) -> str:
    """Return how long it is from one time to another, nothing if they come in the wrong order."""
    return spoken(max(0.0, (later - earlier).total_seconds()))


def because(sentence: str, reason: str) -> str:
    """Return the sentence with its full stop, and before it the reason, if there is one."""
    if not reason:
        return f"{sentence}."
    cut = Truncator(" ".join(reason.split())).chars(REASON_CHARS)
    return f"{sentence}: {cut}" if cut.endswith((".", "…", "!", "?")) else f"{sentence}: {cut}."


def who(decision: JobEvent | None) -> str:
    return (decision.actor_label if decision else "") or _("Somebody")


def nobody() -> str:
    return _("No worker is alive: start one with manage.py runworkers.")
