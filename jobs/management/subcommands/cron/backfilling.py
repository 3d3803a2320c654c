"""``cron backfill``."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from datetime import datetime

from django.core.management.base import OutputWrapper

from .... import operations
from ....models import CronJob
from ....operations.schedules import MOST_BACKFILLED
from ..base import Options, Subcommand, add_reason, decision, typed_moment
from .naming import add_name, named, on_clock


def add_arguments(parser: ArgumentParser) -> None:
    add_name(parser)
    parser.add_argument(
        "--from", type=typed_moment, required=True, dest="begin", metavar="TIME", help="As in 2026-12-01T10:00."
    )
    parser.add_argument(
        "--to", type=typed_moment, required=True, dest="end", metavar="TIME", help="Included, and past."
    )
    parser.add_argument("--dry-run", action="store_true", help="Only tell what would be made.")
    parser.add_argument(
        "--limit",
        type=_limit,
        default=MOST_BACKFILLED,
        metavar="N",
        help=f"Refuse more slots than that (default: {MOST_BACKFILLED}).",
    )
    add_reason(parser)


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is no limit: give a whole number from 1.")
    return int(text)


def backfill(out: OutputWrapper, options: Options) -> None:
    schedule = named(options)
    found = operations.backfill(
        schedule,
        options["begin"],
        options["end"],
        dry_run=options["dry_run"],
        limit=options["limit"],
        **decision(options),
    )
    made = "would get a job" if options["dry_run"] else "got a job"
    out.write(_sentence(found.missing, made, schedule))
    if found.present:
        out.write(_sentence(found.present, "had one before", schedule))
    if found.refused:
        out.write(_sentence(found.refused, "got none, since another live job holds the unique key", schedule))
    if options["dry_run"]:
        out.write("Nothing was written: this was a dry run.")


def _sentence(slots: Sequence[datetime], verb: str, schedule: CronJob) -> str:
    if not slots:
        return f"No slot {verb}."
    first, last = (on_clock(moment, schedule.timezone) for moment in (min(slots), max(slots)))
    if len(slots) == 1:
        return f"1 slot {verb}: {first}."
    return f"{len(slots):,} slots {verb}, from {first} to {last}."


SUBCOMMANDS = (
    Subcommand(
        name="backfill",
        help="Make jobs for the past slots of a schedule that have none.",
        add_arguments=add_arguments,
        run=backfill,
    ),
)
