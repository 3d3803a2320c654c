"""``manage.py demo``: bring a database up and put the show on beside it."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from project import postgres


class Command(BaseCommand):
    help = "Show the system at work: a database, workers, jobs of many kinds, and the admin, until Ctrl-C."
    # The show has a database and settings of its own, and checks those.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--seconds",
            type=_seconds,
            help="Run without the web site, for at most so long, and exit with 0 only if every job ended as it should.",
        )

    def handle(self, **options: Any) -> None:
        # Django has read DATABASE_URL by now, so the show is a process of its own.
        command = [sys.executable, "-m", "project.demo", f"--parent={os.getpid()}"]
        if options["seconds"] is not None:
            command.append(f"--seconds={options['seconds']:g}")
        if options["no_color"]:
            os.environ["NO_COLOR"] = "1"
        os.environ["DJANGO_SETTINGS_MODULE"] = "project.demo.settings"
        self.stdout.write("Starting a database and workers. This takes a few seconds.")
        try:
            with _terminable(), postgres.running("demo", fresh=True):
                code = _call(command)
        except KeyboardInterrupt:
            code = 128 + signal.SIGINT
        sys.exit(code if code >= 0 else 128 - code)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 1 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to 86400.")
    return seconds


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, and SIGINT too where a shell has it ignored."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _call(command: list[str]) -> int:
    """Run the show, hand on each interrupt, and return its exit code."""
    # In a group of its own, or Ctrl-C would reach it twice, and its workers too.
    show = subprocess.Popen(command, cwd=postgres.PROJECT, stdin=subprocess.DEVNULL, process_group=0)
    while True:
        try:
            return show.wait()
        except KeyboardInterrupt:
            show.terminate()
