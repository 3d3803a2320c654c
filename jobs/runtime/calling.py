"""Calling code that is not ours: the one place that catches everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """What came of calling code that is not ours: a value, or whatever it raised."""

    value: Any = None
    error: BaseException | None = None


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
    """Call user code. The one place that catches everything, SystemExit and KeyboardInterrupt included."""
    try:
        return Call(value=function(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 (user code must not end a worker)
        return Call(error=error)
