"""``prune``: delete what is older than JOBS["RETENTION"] now, instead of when a worker comes to it."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping

from django.core.management.base import OutputWrapper

from ... import maintenance
from ...conf import settings
from ...durations import spoken
from .base import Options, Subcommand, table

PROGRESS_SECONDS = 1.0


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="Only count what would be deleted.")


def prune(out: OutputWrapper, options: Options) -> None:
    if options["dry_run"]:
        _write_counts(out, "To delete", maintenance.prunable(using=options["database"]))
        out.write("Nothing was deleted: this was a dry run.")
        return
    _write_counts(out, "Deleted", _prune(out, using=options["database"]))


def _prune(out: OutputWrapper, *, using: str) -> Counter[str]:
    deleted: Counter[str] = Counter()
    last_told = time.monotonic()
    for name, count in maintenance.prune(using=using):
        deleted[name] += count
        if time.monotonic() - last_told >= PROGRESS_SECONDS:
            out.write(f"{name}: {deleted[name]:,} deleted so far")
            last_told = time.monotonic()
    return deleted


def _write_counts(out: OutputWrapper, heading: str, counts: Mapping[str, int]) -> None:
    rows = [
        (name, "(kept for ever)" if kept is None else spoken(kept), f"{counts.get(name, 0):,}")
        for name, kept in settings.retention.items()
    ]
    for line in table([("What", "Older than", heading), *rows]):
        out.write(line)


SUBCOMMANDS = (
    Subcommand(
        name="prune",
        help="Delete finished jobs, runs, events and workers that are older than JOBS['RETENTION'].",
        add_arguments=add_arguments,
        run=prune,
    ),
)
