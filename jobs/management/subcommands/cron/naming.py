"""Schedules as the command line names and describes them."""

from __future__ import annotations

import difflib
from argparse import ArgumentParser
from datetime import datetime

from django.core.management.base import CommandError

from ....clock import aware
from ....cron import zone_named
from ....durations import spoken
from ....models import CronJob
from ..base import Options, local


def add_name(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="The name of a schedule, as `jobs cron list` shows it.")


def named(options: Options) -> CronJob:
    """Return the schedule that was named; fail with the nearest name if there is none."""
    name, schedules = options["name"], CronJob.objects.using(options["database"])
    schedule = schedules.filter(name=name).first()
    if schedule is None:
        near = difflib.get_close_matches(name, schedules.values_list("name", flat=True), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`jobs cron list` shows their names."
        raise CommandError(f"There is no schedule {name!r}: {hint}")
    return schedule


def rule_of(schedule: CronJob) -> str:
    """Return when a schedule runs, in one of the three ways it may say so."""
    if schedule.expression:
        return schedule.expression
    if schedule.starts_at is not None and schedule.starts_at == schedule.ends_at:
        return f"once, at {local(schedule.starts_at)}"
    return f"every {spoken(schedule.every)}"


def on_clock(moment: datetime, zone: str) -> str:
    """Return a time as a clock in the zone shows it."""
    return aware(moment).astimezone(zone_named(zone)).strftime("%Y-%m-%d %H:%M:%S %Z")
