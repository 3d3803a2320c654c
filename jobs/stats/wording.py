"""Times, people and reasons, as sentences have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils.text import Truncator, capfirst
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from ..durations import spoken_roughly
from ..models import Job, JobEvent

REASON_CHARS = 200

Sentences = Iterator[str]


def named(at: datetime, now: datetime) -> str:
    """Return a time in the present zone, which it names; without the day if that is today's."""
    local = localized(at)
    time = f"{local:%H:%M:%S %Z}".strip()
    if local.date() == localized(now).date():
        return time
    # Translators: as in "It is deleted after 2026-01-31 12:00:00 UTC."
    return _("%(day)s %(time)s") % {"day": f"{local:%Y-%m-%d}", "time": time}


def between(earlier: datetime, later: datetime) -> str:
    """Return how long it is from one time to another, nothing if they come in the wrong order."""
    return spoken_roughly(later - earlier)


def because(sentence: str, reason: str) -> str:
    """Return the sentence with its full stop, and before it the reason, if there is one."""
    if not reason:
        return f"{sentence}."
    cut = Truncator(" ".join(reason.split())).chars(REASON_CHARS)
    return f"{sentence}: {cut}" if cut.endswith((".", "…", "!", "?")) else f"{sentence}: {cut}."


def described(changes: Mapping[str, Any]) -> Sentences:
    """Yield what an event changed, from what and to what."""
    for name, (old, new) in changes.items():
        if name == "copy":
            yield _("The copy is job #%(id)d.") % {"id": new}
        else:
            values = {"name": label_of(name), "old": _shown(name, old), "new": _shown(name, new)}
            yield _("%(name)s: %(old)s → %(new)s") % values


def label_of(name: str) -> str:
    """Return what people call a column of jobs."""
    field: Any = Job._meta.get_field(name)
    return str(capfirst(field.verbose_name))


def _shown(name: str, value: Any) -> str:
    return f"{localized(datetime.fromisoformat(value)):%Y-%m-%d %H:%M:%S}" if name == "run_at" else str(value)


def localized(at: datetime) -> datetime:
    return localtime(at) if is_aware(at) else at


def who(decision: JobEvent | None) -> str:
    return (decision.actor_label if decision else "") or _("Somebody")


def nobody() -> str:
    return _("No worker is alive: start one with manage.py runworkers.")
