"""Shorthand for tests of schedules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from jobs import clock, schedules
from jobs.models import CronJob, Job, JobEvent
from jobs.testing import age

HOUR = 3_600
# Of one length, so that names are in the order in which they were made.
_numbers = count(1_000)


def make(**values: Any) -> CronJob:
    """
    Return a new schedule of ``noop``, hourly unless told otherwise, not planned yet.

    Its hours are counted from half an hour before now, and not from the full
    one, which may fall into any test.
    """
    rule = {} if {"every", "expression"} & set(values) else {"every": HOUR, "starts_at": halfway(HOUR)}
    return CronJob.objects.create(**({"name": f"schedule {next(_numbers)}", "kind": "noop"} | rule | values))


def halfway(every: int) -> datetime:
    """Return a start, years ago, from which an interval of so many seconds is half over now."""
    return now().replace(microsecond=0) - timedelta(seconds=every * (100_000_000 // every) + every // 2)


def planned(**values: Any) -> CronJob:
    """Return a schedule whose next run is known."""
    schedule = make(**values)
    tick()
    schedule.refresh_from_db()
    return schedule


def alike(count: int, **values: Any) -> list[CronJob]:
    """Return so many schedules with the same plan."""
    start = halfway(HOUR)
    return [planned(**({"every": HOUR, "starts_at": start} | values)) for _ in range(count)]


def missed(periods: int, **values: Any) -> CronJob:
    """Return an hourly schedule that nobody has looked at for so many of its slots."""
    schedule = planned(**values)
    age(schedule, periods * HOUR)
    return schedule


def tick() -> int:
    return schedules.tick(using="default")


def slots(schedule: CronJob) -> list[datetime]:
    """Return the slots that have a job, oldest first."""
    found = Job.objects.filter(cron_id=schedule.pk, scheduled_for__isnull=False)
    return [
        moment.astimezone(UTC) for moment in found.order_by("scheduled_for").values_list("scheduled_for", flat=True)
    ]


def skips(schedule: CronJob) -> list[tuple[str, int]]:
    """Return (reason, count) of every event about skipped slots, oldest first."""
    events = JobEvent.objects.filter(cron_id=schedule.pk, kind=JobEvent.Kind.SKIPPED).order_by("pk")
    return [(slots["reason"], slots["count"]) for slots in events.values_list("slots", flat=True)]


def now() -> datetime:
    return clock.aware(clock.read("default"))
