"""Schedules that code declares, beside the handlers they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from . import schedule_values
from .exceptions import Duration, InvalidSchedule
from .registry import JobDefinition
from .retry import seconds

# The columns of a schedule that a declaration decides.
DECLARED = (
    "kind",
    "args",
    "payload",
    "queue",
    "priority",
    "max_attempts",
    "timeout",
    "unique_key",
    "expires_after",
    "metadata",
    "expression",
    "every",
    "timezone",
    "enabled",
    "starts_at",
    "ends_at",
    "jitter",
    "catch_up",
    "catch_up_limit",
    "catch_up_window",
    "overlap",
)

_declared: dict[str, Declaration] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A schedule as code wants it: its name, and the columns it says something about."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


def schedule(
    kind: str | JobDefinition[..., Any],
    *,
    cron: str | None = None,
    every: Duration | None = None,
    name: str | None = None,
    timezone: str | None = None,
    payload: Mapping[str, Any] | None = None,
    args: Sequence[Any] = (),
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    **options: Any,
) -> Declaration:
    """
    Declare a schedule: run ``kind`` on a ``cron`` expression or ``every`` so many whole seconds.

    Give one of the two. ``name`` (default: the kind) identifies the
    schedule, so two of one kind need names. ``timezone`` defaults to the
    site's TIME_ZONE. The options are ``queue``, ``priority``,
    ``max_attempts``, ``timeout``, ``unique_key``, ``metadata``, ``enabled``,
    ``jitter`` (seconds), ``catch_up`` (latest, all, skip),
    ``catch_up_limit``, ``catch_up_window`` (seconds or timedelta),
    ``overlap`` (allow, skip, queue_one, cancel_running) and
    ``expires_after`` (seconds or timedelta).

    Nothing is written here: workers bring the declared schedules into the
    database when they start, and so does ``manage.py jobs cron sync``, which
    says what cannot be. Raises ``InvalidSchedule`` for what is no kind, no
    name or no option, and for a second schedule of the same name.
    """
    if isinstance(kind, JobDefinition):
        options = {**kind.enqueue_options, **options}
        kind = kind.kind
    _check_options(options)
    identity = {"kind": kind, "name": kind if name is None else name}
    schedule_values.check(identity)
    given: dict[str, Any] = {
        "kind": kind,
        "args": args,
        "payload": {} if payload is None else payload,
        "expression": cron or "",
        "every": None if every is None else _whole(every, "every"),
        "starts_at": starts_at,
        "ends_at": ends_at,
        **options,
    }
    if timezone is not None:
        given["timezone"] = timezone
    declaration = Declaration(name=identity["name"], values=_values(given))
    _declare(declaration)
    return declaration


def _check_options(options: Mapping[str, Any]) -> None:
    # The rule is given by the words cron and every, not by its columns.
    known = sorted({*DECLARED, "cron", "name"} - {"expression"})
    for name in options:
        if name not in known:
            raise InvalidSchedule(f"schedule() has no option {name!r}: the options are {', '.join(known)}.")


def _values(given: dict[str, Any]) -> dict[str, Any]:
    for name in ("jitter", "catch_up_window"):
        if name in given:
            given[name] = _whole(given[name], name)
    for name in ("timeout", "expires_after"):
        if isinstance(given.get(name), timedelta):
            given[name] = given[name].total_seconds()
    return given


def _whole(value: Duration, name: str) -> int:
    length = seconds(value, name, most=100 * 366 * 86_400)
    if length != int(length):
        raise InvalidSchedule(f"{name}={value!r} is not a whole number of seconds.")
    return int(length)


def _declare(declaration: Declaration) -> None:
    present = _declared.get(declaration.name)
    if present is not None and present != declaration:
        raise InvalidSchedule(
            f"Schedule {declaration.name!r} is declared twice, and differently: give one of them another name."
        )
    _declared[declaration.name] = declaration


def declared() -> list[Declaration]:
    """Return what has been declared, in the order of names."""
    return [_declared[name] for name in sorted(_declared)]
