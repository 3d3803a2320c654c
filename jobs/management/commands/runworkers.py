"""Run worker processes."""

from __future__ import annotations

import argparse
import logging
import socket
import sys
import threading
from typing import Any

from django.conf import settings as django_settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError, connections, router

from ...conf import settings
from ...exceptions import InvalidJob
from ...models import Job
from ...registry import check_queue
from ...runtime.leaving import leave, leave_in_time
from ...runtime.link import link_to_supervisor, replaces_another, stop_without_supervisor, tell_ready, tell_waiting
from ...runtime.plan import Plan, resident_mebibytes
from ...runtime.supervisor import Supervisor, set_title
from ...runtime.worker import Worker


class Command(BaseCommand):
    help = "Run jobs: claims due jobs from the database and calls their handlers until it is stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--concurrency", type=_positive, default=4, help="Jobs to run at the same time in a process (default 4).")
        add(
            "--processes",
            type=_positive,
            default=1,
            help="Worker processes; more than one get a supervisor (default 1).",
        )
        add("--queues", type=_queues, default=[], help="Only these, comma-separated, in strict order (default: all).")
        add("--database", help="The alias of the database that holds the jobs (default: where the router sends them).")
        add("--burst", action="store_true", help="Exit when nothing is due any more.")
        add(
            "--grace",
            type=_seconds,
            help=f"Seconds for running jobs after a stop (default {settings.grace_seconds:g}).",
        )
        add("--max-jobs", type=_positive, help="Replace a process after this many jobs.")
        add("--max-age", type=_some_seconds, help="Replace a process after this many seconds.")
        add("--max-rss", type=_positive, help="Replace a process that has grown to this many MiB.")
        add(
            "--reload",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="Restart when code changes (default: in DEBUG, except in a burst).",
        )

    def run_from_argv(self, argv: list[str]) -> None:
        """Do as any command, and then see to it that the process ends. Called in another's, it only returns or raises."""
        try:
            super().run_from_argv(argv)
        except SystemExit as end:
            leave_in_time(end.code)
            raise

    def handle(self, **options: Any) -> None:
        options["database"] = options["database"] or router.db_for_write(Job)
        if options["database"] not in connections:
            raise CommandError(
                f"--database={options['database']!r} is not in DATABASES: it has {', '.join(connections)}."
            )
        _log_to_the_console(options["verbosity"])
        plan = self._plan(options)
        if plan.max_rss is not None and (size := resident_mebibytes()) >= plan.max_rss:
            raise CommandError(
                f"--max-rss={plan.max_rss} leaves no room: the process has {size} MiB before its first job."
            )
        link = link_to_supervisor()
        if link is None and (options["processes"] > 1 or plan.reload):
            set_title(f"supervisor of {options['processes']}")
            grace = settings.grace_seconds if plan.grace is None else plan.grace
            sys.exit(Supervisor(processes=options["processes"], burst=plan.burst, grace=grace).run())
        self._work(plan, link, verbosity=options["verbosity"])

    def _plan(self, options: dict[str, Any]) -> Plan:
        wants_reload = options["reload"]
        if wants_reload is None:
            wants_reload = django_settings.DEBUG and not options["burst"] and hasattr(socket, "socketpair")
        return Plan(
            concurrency=options["concurrency"],
            queues=tuple(options["queues"]),
            using=options["database"],
            burst=options["burst"],
            grace=options["grace"],
            reload=wants_reload,
            max_jobs=options["max_jobs"],
            max_age=options["max_age"],
            max_rss=options["max_rss"],
            # One that replaces another has the same code. In a deploy its code may be the old one, and
            # would take back what the new one has just declared.
            sync=not replaces_another(),
        )

    def _work(self, plan: Plan, link: socket.socket | None, *, verbosity: int) -> None:
        queues = ", ".join(plan.queues) or "all queues"
        worker = Worker(plan, on_ready=lambda: tell_ready(link), on_wait=lambda: tell_waiting(link))
        worker.handle_signals(supervised=link is not None)
        set_title(f"worker {worker.name} of {queues}")
        if link is not None:
            threading.Thread(target=stop_without_supervisor, args=(link, worker.stop), daemon=True).start()
        if verbosity:
            self.stdout.write(
                f"Worker {worker.name} runs {plan.concurrency} at a time from {queues}. Stop it with Ctrl-C."
            )
        try:
            code = worker.run()
        except (ProgrammingError, OperationalError) as error:
            raise CommandError(
                f"The tables of jobs are not as this version needs them: run migrate. ({error})"
            ) from error
        leave(code, all_threads_ended=worker.all_threads_ended)


def _log_to_the_console(verbosity: int) -> None:
    """Show warnings, and from verbosity 2 on every run, where the site has not said what to do with the log."""
    logger = logging.getLogger("jobs")
    if not verbosity or logger.hasHandlers():
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbosity > 1 else logging.WARNING)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000000.")
    return int(text)


def _queues(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("no queue is named: leave the option out to serve all.")
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
    if not 0 <= seconds <= 366 * 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to a year.")
    return seconds


def _some_seconds(text: str) -> float:
    if not (seconds := _seconds(text)):
        raise argparse.ArgumentTypeError(f"{text!r} would end every process before its first job.")
    return seconds
