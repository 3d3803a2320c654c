"""What a handler says about its jobs, and the limits of those values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .exceptions import Duration, InvalidHandler, InvalidJob
from .retry import Backoff, seconds
from .translating import translated as _

BackoffFunction = Callable[[int, BaseException], Duration]

# Of priorities.
LOWEST, HIGHEST = -100, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What ``@job`` may say; ``None`` leaves a value to the settings."""

    queue: str = "default"
    priority: int = 0
    max_attempts: int | None = None
    timeout: Duration | None = None
    backoff: Backoff | Duration | BackoffFunction | None = None
    never_retry: tuple[type[BaseException], ...] = ()
    atomic: bool = False
    takes_context: bool = False
    aliases: tuple[str, ...] = ()
    permission: str | None = None


def options_of(kind: str, raw: dict[str, Any]) -> Options:
    """Return the options that the keywords of ``@job`` stand for; raise ``InvalidHandler`` naming the first bad one."""
    known = Options.__dataclass_fields__
    try:
        for name in raw:
            if name not in known:
                raise InvalidJob(f"there is no option {name!r}: the options are {', '.join(known)}.")
        tuples: dict[str, Any] = {
            name: _as_tuple(name, raw[name]) for name in ("never_retry", "aliases") if name in raw
        }
        options = Options(**(raw | tuples))
        _check(options)
    except InvalidJob as error:
        raise InvalidHandler(f"@job({kind!r}): {error}") from None
    return options


def _as_tuple(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str | type):
        return (value,)
    if not isinstance(value, Iterable):
        raise InvalidJob(f"{name}={value!r} is not a list.")
    return tuple(value)


def _check(options: Options) -> None:
    check_queue(options.queue)
    check_priority(options.priority)
    if options.max_attempts is not None:
        check_max_attempts(options.max_attempts)
    if options.timeout is not None:
        seconds(options.timeout, "timeout", least=0.001)
    if options.backoff is not None and not callable(options.backoff):
        Backoff.of(options.backoff)
    errors: tuple[Any, ...] = options.never_retry
    for error in errors:
        if not isinstance(error, type) or not issubclass(error, BaseException):
            raise InvalidJob(f"never_retry has {error!r}: give exception classes.")
    for alias in options.aliases:
        check_kind(alias)
    if options.permission is not None:
        check_permission(options.permission)


def check_kind(kind: object) -> None:
    """Raise ``InvalidJob`` unless ``kind`` can name a kind: 1 to 200 printable characters."""
    if not isinstance(kind, str) or not 0 < len(kind) <= 200 or not kind.isprintable():
        raise InvalidJob(_("kind=%r is no name of a kind: use 1 to 200 printable characters.") % (kind,))


def check_permission(permission: object) -> None:
    """Raise ``InvalidJob`` unless ``permission`` names one as Django does: ``app_label.codename``."""
    if not isinstance(permission, str) or not re.fullmatch(r"\w+\.\w+", permission):
        raise InvalidJob(f"permission={permission!r} is no permission: write it as 'billing.refund'.")


def check_queue(queue: object) -> None:
    """Raise ``InvalidJob`` unless ``queue`` can name a queue: 1 to 100 printable characters without commas."""
    if not isinstance(queue, str) or not 0 < len(queue) <= 100 or not queue.isprintable() or "," in queue:
        raise InvalidJob(_("queue=%r is no queue name: use 1 to 100 printable characters without commas.") % (queue,))


def check_priority(priority: object) -> None:
    """Raise ``InvalidJob`` unless ``priority`` is a whole number from -100 to 100."""
    if isinstance(priority, bool) or not isinstance(priority, int) or not LOWEST <= priority <= HIGHEST:
        raise InvalidJob(_("priority=%r is out of range: give -100 to 100 (higher runs first).") % (priority,))


def check_max_attempts(attempts: object) -> None:
    """Raise ``InvalidJob`` unless ``attempts`` is a whole number from 1 to 32,767."""
    if isinstance(attempts, bool) or not isinstance(attempts, int) or not 1 <= attempts <= 32_767:
        raise InvalidJob(_("max_attempts=%r is out of range: give 1 to 32767 (1 means no retry).") % (attempts,))
