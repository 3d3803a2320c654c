"""Schedules of django-q2 as schedules of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from croniter import croniter
from django.apps import apps
from django.conf import settings as django_settings

from .. import clock, cron
from ..durations import DAY, HOUR, MINUTE
from ..exceptions import InvalidSchedule
from .found import Found, checked, kind_named, once
from .literals import arguments, keywords

MODEL = "django_q", "Schedule"

ONCE, MINUTES, HOURLY, DAILY, WEEKLY, FORTNIGHTLY, BY_CRON = "O", "I", "H", "D", "W", "BW", "C"
# Months from one run to the next: monthly, bimonthly, quarterly, yearly.
MONTHS = {"M": 1, "BM": 2, "Q": 3, "Y": 12}
# Keyword arguments that are not the function's own.
OPTIONS = frozenset(
    {
        "q_options",
        "task_name",
        "hook",
        "group",
        "save",
        "sync",
        "cached",
        "ack_failure",
        "iter_count",
        "iter_cached",
        "chain",
        "broker",
        "cluster",
        "timeout",
    }
)


def read(*, now: datetime) -> list[Found]:
    """Return what all schedules would be here, in the order they were made."""
    rows = apps.get_model(*MODEL)._default_manager.order_by("pk")
    zone = getattr(django_settings, "Q_CLUSTER", {}).get("time_zone", django_settings.TIME_ZONE)
    return translate(rows, now=now, zone=zone)


def translate(rows: Iterable[Any], *, now: datetime, zone: str) -> list[Found]:
    """Return what schedules would be here; names that are missing or not unique get the id of their row."""
    listed = list(rows)
    count = Counter(row.name for row in listed)
    names = [row.name if row.name and count[row.name] == 1 else f"{row.name or row.func} #{row.pk}" for row in listed]
    return [_translated(name, row, now, zone) for name, row in zip(names, listed, strict=True)]


def _translated(name: str, row: Any, now: datetime, zone: str) -> Found:
    return checked(name, lambda: _found(name, row, now, zone))


def _found(name: str, row: Any, now: datetime, zone: str) -> Found:
    if row.repeats == 0 or row.next_run is None:
        raise InvalidSchedule("It has run as often as it was to run." if row.repeats == 0 else "It has no next run.")
    given = keywords(row.kwargs)
    options = {option: given.pop(option) for option in sorted(OPTIONS & set(given))}
    local = clock.aware(row.next_run).astimezone(cron.zone_named(zone))
    return Found(
        name=name,
        values={
            "kind": kind_named(row.func),
            "args": arguments(row.args),
            "payload": given,
            "timezone": zone,
            **_rule(row, local, now),
        },
        lost=(*_lost(row, options), *_shifted(row, local)),
        held_back=tuple(_endless(row)),
    )


def _rule(row: Any, local: datetime, now: datetime) -> dict[str, Any]:
    kind = row.schedule_type
    if kind == ONCE:
        return once(row.next_run, now=now)
    every = {MINUTES: (row.minutes or 1) * MINUTE, HOURLY: HOUR, FORTNIGHTLY: 14 * DAY}
    if kind in every:
        return {"every": every[kind], "starts_at": row.next_run.replace(microsecond=0)}
    expression = _with_either_day(row.cron) if kind == BY_CRON else _calendar(kind, local)
    return {"expression": expression, "starts_at": row.next_run.replace(second=0, microsecond=0)}


def _calendar(kind: str, local: datetime) -> str:
    """Return the expression for one that keeps its time on the clock, as these do over there."""
    at = f"{local.minute} {local.hour}"
    if kind == DAILY:
        return f"{at} * * *"
    if kind == WEEKLY:
        return f"{at} * * {local.isoweekday() % 7}"
    if kind not in MONTHS:
        raise InvalidSchedule(f"Its type {kind!r} is not known.")
    months = sorted((local.month - 1 + more) % 12 + 1 for more in range(0, 12, MONTHS[kind]))
    return f"{at} {local.day} {'*' if len(months) == 12 else ','.join(map(str, months))} *"


def _with_either_day(text: str | None) -> str:
    """Return the expression with its days as croniter takes them: where two fields say some, either is enough."""
    fields = cron.validate(text).split()
    if len(fields) != 5:
        return fields[0]
    expanded, numbered = croniter.expand(" ".join(fields))
    if numbered and expanded[2] != ["*"]:
        raise InvalidSchedule(
            f"Its days {fields[2]!r} of the month beside the weekday {fields[4]!r} are no days that croniter reads as "
            "written: schedule one of the two, and let the handler look at the other."
        )
    if numbered:
        return " ".join([*fields[:2], "*", *fields[3:]])
    if ["*"] not in (expanded[2], expanded[4]):
        # Here a field that starts with * would make both necessary.
        fields[2] = fields[2].replace("*", "1-31", 1) if fields[2].startswith("*") else fields[2]
        fields[4] = fields[4].replace("*", "0-6", 1) if fields[4].startswith("*") else fields[4]
    return " ".join(fields)


def _endless(row: Any) -> Iterator[str]:
    if row.repeats > 0 and row.schedule_type != ONCE:
        yield f"It was to run {row.repeats} more times, and here it would run for ever: give it an end (ends_at)."


def _lost(row: Any, options: dict[str, Any]) -> Iterator[str]:
    if row.hook:
        yield f"The hook {row.hook}: call it at the end of the handler."
    if row.cluster:
        yield f"The cluster {row.cluster!r}: give the schedule a queue, and workers for it."
    if row.intended_date_kwarg:
        yield f"The argument {row.intended_date_kwarg!r} with the time it was due: take scheduled_for from the context."
    if options:
        written = ", ".join(f"{name}={value!r}" for name, value in options.items())
        yield f"The options {written}: give the handler or the schedule what it needs of them."


def _shifted(row: Any, local: datetime) -> Iterator[str]:
    """Say how its times will differ from those over there."""
    kind = row.schedule_type
    if kind == FORTNIGHTLY and _changes_clocks(local):
        yield "The time on the clock: an interval of 14 days runs an hour earlier or later once the clocks change."
    if kind in MONTHS and local.day > 28:
        yield f"Months without a day {local.day} have no run; L in its place would be the last day of each month."
    if kind in {DAILY, WEEKLY, *MONTHS} and local.second:
        yield f"The seconds: it runs at {local:%H:%M} and not at {local:%H:%M:%S}."


def _changes_clocks(local: datetime) -> bool:
    return len({local.replace(month=month, day=1).utcoffset() for month in range(1, 13)}) > 1
