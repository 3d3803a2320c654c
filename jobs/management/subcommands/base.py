"""What every subcommand is made of."""

from __future__ import annotations

import getpass
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import OutputWrapper
from django.utils import timezone

from ...operations import Actor
from ...payload import storable_text

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """``run`` writes to the first argument; what was typed is in the second, ``database`` always."""

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[OutputWrapper, Options], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Subcommands that are called by two words, of which ``name`` is the first."""

    name: str
    help: str
    subcommands: tuple[Subcommand, ...]


def takes_nothing(parser: ArgumentParser) -> None:
    """Add no argument."""


def add_reason(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="Why: kept with the event.")


def decision(options: Options) -> dict[str, Any]:
    """Return who asks, and why, as ``operations`` take it."""
    return {"actor": Actor(label=f"{_user()} (command line)"), "reason": storable_text(options["reason"], most=500)}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's user may have no name.
        return "somebody"


def table(rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table, headings included, whose columns are as wide as they must be."""
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def local(moment: datetime) -> str:
    """Return a time in the zone of the site, which it names."""
    return timezone.localtime(aware(moment)).strftime("%Y-%m-%d %H:%M:%S %Z")


def aware(moment: datetime) -> datetime:
    """Return a time with its zone: that of the site if it has none."""
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


def typed_moment(text: str) -> datetime:
    """Parse a time as a person types it, in the zone of the site unless it names another; return it in UTC."""
    try:
        return aware(datetime.fromisoformat(text)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ArgumentTypeError(
            f"{text!r} is no time: write it as 2026-12-01T10:00 or 2026-12-01T10:00+01:00."
        ) from None
