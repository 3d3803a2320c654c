"""What people do to jobs, queues, schedules and workers, from the command line."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections, router

from ...exceptions import JobsError
from ...models import Job
from ..subcommands import cron, queues, retention, showing, steering, workers
from ..subcommands.base import Group, Subcommand

SUBCOMMANDS: tuple[Subcommand | Group, ...] = (
    *queues.SUBCOMMANDS,
    *workers.SUBCOMMANDS,
    *steering.SUBCOMMANDS,
    *showing.SUBCOMMANDS,
    *retention.SUBCOMMANDS,
    cron.GROUP,
)


class Command(BaseCommand):
    help = "Look after jobs, queues, schedules and workers."

    def add_arguments(self, parser: CommandParser) -> None:
        _add_subcommands(parser, SUBCOMMANDS)

    def handle(self, **options: Any) -> None:
        using = options["database"] or router.db_for_write(Job)
        if using not in connections:
            raise CommandError(f"--database={using!r} is not in DATABASES: it has {', '.join(connections)}.")
        try:
            options["run"](self.stdout, options | {"database": using})
        except JobsError as error:
            raise CommandError(str(error)) from error


def _add_subcommands(parser: ArgumentParser, subcommands: Iterable[Subcommand | Group]) -> None:
    subparsers = parser.add_subparsers(title="subcommands", dest="subcommand", required=True)
    for one in subcommands:
        if isinstance(one, Group):
            group = subparsers.add_parser(one.name, help=one.help, description=one.help)
            _add_subcommands(group, one.subcommands)
        else:
            own = subparsers.add_parser(one.name, help=one.help, description=one.help, parents=[_common_arguments()])
            one.add_arguments(own)
            own.set_defaults(run=one.run)


def _common_arguments() -> CommandParser:
    """Return what may be said after the name of a subcommand, too; Django's own options are taken only before it."""
    parser = CommandParser(add_help=False)
    parser.add_argument(
        "--database", metavar="ALIAS", help="The database that holds the jobs (default: where they are written to)."
    )
    for name in ("--settings", "--pythonpath"):
        parser.add_argument(name, default=SUPPRESS, help=SUPPRESS)
    parser.add_argument("-v", "--verbosity", type=int, choices=range(4), default=SUPPRESS, help=SUPPRESS)
    for name in ("--traceback", "--no-color", "--force-color", "--skip-checks"):
        parser.add_argument(name, action="store_true", default=SUPPRESS, help=SUPPRESS)
    return parser
