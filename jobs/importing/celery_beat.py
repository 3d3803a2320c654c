"""Periodic tasks of django-celery-beat as schedules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.conf import settings as django_settings

from .. import clock
from ..durations import DAY, HOUR, MINUTE
from ..exceptions import InvalidSchedule
from .crontabs import expression
from .found import Found, checked, kind_named, once

MODEL = "django_celery_beat", "PeriodicTask"
RULES = ("crontab", "interval", "clocked", "solar")
MICROSECONDS = {
    "days": DAY * 1_000_000,
    "hours": HOUR * 1_000_000,
    "minutes": MINUTE * 1_000_000,
    "seconds": 1_000_000,
    "microseconds": 1,
}
CLEANUP = "celery.backend_cleanup"


def read(*, now: datetime) -> list[Found]:
    """Return what all periodic tasks would be here, in the order of their names."""
    tasks = apps.get_model(*MODEL)._default_manager
    return [translate(task, now=now) for task in tasks.select_related(*RULES).order_by("name")]


def translate(task: Any, *, now: datetime) -> Found:
    """Return what a periodic task would be here."""
    return checked(task.name, lambda: _found(task, now))


def _found(task: Any, now: datetime) -> Found:
    if task.task == CLEANUP:
        raise InvalidSchedule("It deletes Celery's results; what JOBS['RETENTION'] says is deleted without a schedule.")
    values = _call(task) | _rule(task, now)
    if task.expires is not None:
        if clock.aware(task.expires) <= now:
            raise InvalidSchedule(f"It expired at {task.expires}.")
        # Over there the moment itself is too late; here it would be the last.
        last = task.expires - timedelta(seconds=1)
        values["ends_at"] = min(last, values.get("ends_at", last))
    return Found(name=task.name, values=values, lost=tuple(_lost(task)), was_enabled=task.enabled)


def _call(task: Any) -> dict[str, Any]:
    return {
        "kind": kind_named(task.task),
        "args": _parsed("args", task.args or "[]", list),
        "payload": _parsed("kwargs", task.kwargs or "{}", dict),
        "queue": task.queue or "",
        "expires_after": float(task.expire_seconds) if task.expire_seconds else None,
    }


def _parsed(name: str, text: str, kind: type) -> Any:
    try:
        value = json.loads(text, object_hook=_plain)
    except json.JSONDecodeError as error:
        raise InvalidSchedule(f"Its {name} {text!r} are no JSON: {error}.") from None
    if not isinstance(value, kind):
        raise InvalidSchedule(f"Its {name} are {text}, and should be a JSON {'array' if kind is list else 'object'}.")
    return value


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    # So Celery's JSON marks dates and other values, which arrive as such over there.
    if "__type__" in value:
        raise InvalidSchedule(f"Its arguments hold a {value['__type__']}, and here they are plain JSON: pass text.")
    return value


def _rule(task: Any, now: datetime) -> dict[str, Any]:
    named = [name for name in RULES if getattr(task, name) is not None]
    if len(named) != 1:
        raise InvalidSchedule(f"It has {' and '.join(named) or 'no rule'}: it takes one of {', '.join(RULES)}.")
    if task.solar is not None:
        raise InvalidSchedule(f"It follows the sun ({task.solar.event}), which no schedule here does.")
    if task.clocked is not None:
        return once(task.clocked.clocked_time, now=now)
    if task.one_off:
        raise InvalidSchedule("It runs only once, at the next time of its rule: enqueue a job with a run_at instead.")
    return _of_crontab(task) if task.crontab is not None else _of_interval(task)


def _of_crontab(task: Any) -> dict[str, Any]:
    crontab = task.crontab
    fields = (crontab.minute, crontab.hour, crontab.day_of_month, crontab.month_of_year, crontab.day_of_week)
    return {"expression": expression(*fields), "timezone": str(crontab.timezone), "starts_at": task.start_time}


def _of_interval(task: Any) -> dict[str, Any]:
    every, period = task.interval.every, task.interval.period
    if period not in MICROSECONDS:
        raise InvalidSchedule(f"Its period {period!r} is not known: there are {', '.join(MICROSECONDS)}.")
    seconds, rest = divmod(every * MICROSECONDS[period], MICROSECONDS["seconds"])
    if rest:
        raise InvalidSchedule(f"Its interval of {every} {period} is not a whole number of seconds.")
    # As over there: from the last run, or else from when the task was saved.
    begins = [moment for moment in (task.start_time, task.last_run_at) if moment is not None]
    begin = max(begins, default=task.date_changed)
    return {"every": seconds, "starts_at": begin and begin.replace(microsecond=0)}


def _lost(task: Any) -> Iterator[str]:
    if task.priority is not None:
        yield (
            f"Priority {task.priority}: with RabbitMQ more is sooner, with Redis less is. "
            "Here it is -100 to 100, and more is sooner."
        )
    for name in ("exchange", "routing_key"):
        if getattr(task, name):
            yield f"The {name} {getattr(task, name)!r}: give the schedule a queue."
    if task.headers and task.headers.strip() != "{}":
        yield f"The headers {task.headers}: what a handler has to know goes into its arguments."
    if task.description:
        yield "The description."
    if task.crontab is not None and not getattr(django_settings, "DJANGO_CELERY_BEAT_TZ_AWARE", True):
        yield "The zone of the Celery app: it was used for all crontabs, since DJANGO_CELERY_BEAT_TZ_AWARE is off."
