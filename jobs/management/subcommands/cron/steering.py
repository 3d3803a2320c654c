"""``cron pause``, ``cron resume`` and ``cron run``."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import OutputWrapper

from .... import operations, registry
from ....conf import settings
from ....models import CronJob
from ....models.cron_queryset import CronJobQuerySet
from ..base import Options, Subcommand, add_reason, decision
from .naming import add_name, named


def add_arguments(parser: ArgumentParser) -> None:
    add_name(parser)
    add_reason(parser)


def pause(out: OutputWrapper, options: Options) -> None:
    schedule = named(options)
    if operations.disable(_only(schedule), **decision(options)):
        out.write(f"Schedule {schedule.name!r} is disabled. Jobs of it that are running go on.")
        return
    out.write(f"Schedule {schedule.name!r} was disabled before.")


def resume(out: OutputWrapper, options: Options) -> None:
    schedule = named(options)
    if not operations.enable(_only(schedule), **decision(options)):
        out.write(f"Schedule {schedule.name!r} was not disabled.")
        return
    out.write(f"Schedule {schedule.name!r} is resumed. What it missed meanwhile does not run.")
    if registry.find(schedule.kind) is None and not settings.allow_unknown_kinds:
        out.write(f"No handler of {schedule.kind!r} is registered here: is the name right?")


def run(out: OutputWrapper, options: Options) -> None:
    schedule = named(options)
    job = operations.trigger_schedule(schedule, **decision(options))
    out.write(f"Job {job} is enqueued. The next run of {schedule.name!r} stays as it is.")


def _only(schedule: CronJob) -> CronJobQuerySet:
    return CronJob.objects.using(schedule._state.db).filter(pk=schedule.pk)


SUBCOMMANDS = (
    Subcommand(name="pause", help="Stop a schedule from running.", add_arguments=add_arguments, run=pause),
    Subcommand(name="resume", help="Let a schedule run again.", add_arguments=add_arguments, run=resume),
    Subcommand(
        name="run",
        help="Enqueue one extra run of a schedule now, disabled or not.",
        add_arguments=add_arguments,
        run=run,
    ),
)
