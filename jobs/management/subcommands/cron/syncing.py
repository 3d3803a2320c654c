"""``cron sync``: bring the schedules that code declares into the database now, as workers do when they start."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

from django.core.management.base import CommandError, OutputWrapper

from .... import schedules
from ....schedules import Synced
from ..base import Options, Subcommand, table


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="Only tell what would be done.")


def sync(out: OutputWrapper, options: Options) -> None:
    synced = schedules.sync(dry_run=options["dry_run"], using=options["database"])
    rows = list(_rows(synced))
    for line in table(rows) if rows else ["The schedules are as the code declares them."]:
        out.write(line)
    if options["dry_run"]:
        out.write("Nothing was written: this was a dry run.")
    if refused := len(synced.refused):
        raise CommandError(f"{refused} {'schedule was' if refused == 1 else 'schedules were'} refused.")


def _rows(synced: Synced) -> Iterator[tuple[str, str, str]]:
    for name in synced.created:
        yield "created", name, ""
    for name, columns in synced.updated.items():
        yield "updated", name, ", ".join(columns)
    for name, columns in synced.kept.items():
        yield "kept", name, f"{', '.join(columns)}: changed by a person"
    for name in synced.disabled:
        yield "disabled", name, "no longer declared"
    for name, reason in synced.refused.items():
        yield "refused", name, reason


SUBCOMMANDS = (
    Subcommand(
        name="sync",
        help="Bring the schedules that code declares into the database.",
        add_arguments=add_arguments,
        run=sync,
    ),
)
