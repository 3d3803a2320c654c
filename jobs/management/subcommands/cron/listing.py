"""``cron list`` and ``cron upcoming``."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime

from django.core.management.base import OutputWrapper

from .... import clock, cron, schedule_values, slots, stats
from ....durations import spoken
from ....models import CronJob, Job
from ..base import Options, Subcommand, local, table, takes_nothing
from .naming import add_name, named, on_clock, rule_of

MOST_UPCOMING = 1_000


def show_schedules(out: OutputWrapper, options: Options) -> None:
    using = options["database"]
    schedules = list(CronJob.objects.using(using).order_by("name"))
    if not schedules:
        out.write("There are no schedules yet.")
        return
    last_jobs = Job.objects.using(using).in_bulk({schedule.last_job_id for schedule in schedules})
    now = clock.aware(clock.read(using))
    headings = ("Name", "Rule", "Zone", "Status", "Next run", "Last run", "Outcome", "Trouble")
    rows = [_row(schedule, last_jobs.get(schedule.last_job_id), now) for schedule in schedules]
    for line in table([headings, *rows]):
        out.write(line)


def _row(schedule: CronJob, last_job: Job | None, now: datetime) -> tuple[str, ...]:
    return (
        schedule.name,
        rule_of(schedule),
        schedule.timezone if schedule.expression else "",
        "enabled" if schedule.enabled else "disabled",
        _next_run(schedule),
        "never" if schedule.last_run_at is None else local(schedule.last_run_at),
        "" if last_job is None else str(stats.shown_state(last_job).label),
        schedule.error or _lateness(schedule, now),
    )


def _next_run(schedule: CronJob) -> str:
    if not schedule.enabled:
        return ""
    if schedule.is_over:
        return "none"
    return "not planned yet" if schedule.next_run_at is None else local(schedule.next_run_at)


def _lateness(schedule: CronJob, now: datetime) -> str:
    if not schedule.enabled or schedule.next_run_at is None:
        return ""
    late = now - clock.aware(schedule.next_run_at)
    return f"late by {spoken(late)}" if late > slots.ON_TIME else ""


def add_upcoming_arguments(parser: ArgumentParser) -> None:
    add_name(parser)
    parser.add_argument("--count", type=_count, default=5, metavar="N", help="How many runs (default: 5).")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_UPCOMING:
        raise ArgumentTypeError(f"{text!r} is no number of runs: give 1 to {MOST_UPCOMING}.")
    return int(text)


def show_upcoming(out: OutputWrapper, options: Options) -> None:
    schedule = named(options)
    runs = _runs(schedule, count=options["count"], now=clock.aware(clock.read(options["database"])))
    if not schedule.enabled:
        out.write("It is disabled: these are the runs it would have.")
    if not runs:
        out.write("There are none.")
        return
    rows = [(on_clock(run.at, schedule.timezone), f"{run.at:%Y-%m-%d %H:%M:%S} UTC", run.note) for run in runs]
    for line in table([(f"In {schedule.timezone}", "In UTC", "Note"), *rows]):
        out.write(line)
    if late := slots.offset(schedule.pk, schedule.jitter):
        out.write(f"Its jitter adds {spoken(late)} to each.")


def _runs(schedule: CronJob, *, count: int, now: datetime) -> list[cron.Occurrence]:
    rule, ends_at = schedule_values.rule(schedule), schedule_values.policy(schedule).ends_at
    runs = cron.preview(rule, schedule.timezone, now, count)
    return [run for run in runs if ends_at is None or run.at <= ends_at]


SUBCOMMANDS = (
    Subcommand(
        name="list",
        help="Show the schedules, their next run, and how the last one went.",
        add_arguments=takes_nothing,
        run=show_schedules,
    ),
    Subcommand(
        name="upcoming",
        help="Show the next runs of a schedule, and what changes of the clocks do to them.",
        add_arguments=add_upcoming_arguments,
        run=show_upcoming,
    ),
)
