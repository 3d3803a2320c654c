"""Run a worker process."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, connections

from ...conf import settings
from ...exceptions import InvalidJob
from ...registry import check_queue
from ...runtime.worker import Plan, Worker, leave


class Command(BaseCommand):
    help = "Run jobs: claims due jobs from the database and calls their handlers until it is stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--concurrency", type=_positive, default=4, help="Jobs to run at the same time (default 4).")
        parser.add_argument(
            "--queues", type=_queues, default=[], help="Only these, comma-separated, in strict order (default: all)."
        )
        parser.add_argument("--database", default=DEFAULT_DB_ALIAS, help="The alias of the database that holds the jobs.")
        parser.add_argument("--burst", action="store_true", help="Exit when nothing is due any more.")
        parser.add_argument(
            "--grace",
            type=_seconds,
            default=None,
            help=f"Seconds that running jobs get after SIGTERM or SIGINT (default {settings.grace_seconds:g}).",
        )

    def handle(self, **options: Any) -> None:
        if options["database"] not in connections:
            raise CommandError(f"--database={options['database']!r} is not in DATABASES: it has {', '.join(connections)}.")
        plan = Plan(
            concurrency=options["concurrency"],
            queues=tuple(options["queues"]),
            using=options["database"],
            burst=options["burst"],
            grace=options["grace"],
        )
        worker = Worker(plan)
        worker.handle_signals()
        if options["verbosity"]:
            queues = ", ".join(plan.queues) or "all queues"
            self.stdout.write(f"Worker {worker.name} runs {plan.concurrency} at a time from {queues}. Stop it with Ctrl-C.")
        leave(worker, worker.run())


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000.")
    return int(text)


def _queues(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        for name in names:
            check_queue(name)
    except InvalidJob as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return names


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 86400.")
    return seconds
