"""
What no handler should raise, return or log, and handlers that do.

Each value is made when its handler is called. RETURNED says beside each how
its job ends: with the result stored in some form, or dead.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, NoReturn

from django.contrib.auth.models import User
from django.utils.functional import lazystr

from jobs import JobContext, current, job
from jobs.states import State

logger = logging.getLogger("jobs.tests")

STORED, DEAD = State.SUCCEEDED, State.DEAD


class BadText(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")

    def __repr__(self) -> str:
        raise BadText


class Text(str):
    def __len__(self) -> NoReturn:
        raise OddText


class OddText(Exception):
    def __str__(self) -> str:
        return Text("odd")


class TwoArguments(Exception):
    def __init__(self, one: Any, two: Any) -> None:
        super().__init__()
        self.pair = one, two


class Unpicklable(Exception):
    def __init__(self) -> None:
        super().__init__(threading.Lock())

    def __reduce__(self) -> NoReturn:
        raise RuntimeError("not to be pickled")


class BadLine(SyntaxError):
    """Fails where its traceback is written, with an exception that has no text."""

    @property
    def lineno(self) -> NoReturn:  # type: ignore[override]
        raise BadText


class Colour(Enum):
    RED = "red"


def recursion() -> BaseException:
    try:
        return recursion()
    except RecursionError as error:
        return error


def chain(length: int = 10_000) -> BaseException:
    error: BaseException = ValueError("first")
    for _ in range(length):
        following = ValueError("next")
        following.__cause__ = error
        error = following
    return error


def circle() -> BaseException:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    one.__context__, other.__context__ = other, one
    return one


def groups(depth: int) -> BaseException:
    error: BaseException = KeyboardInterrupt("innermost")
    for _ in range(depth):
        error = BaseExceptionGroup("many", [error, ValueError("beside it")])
    return error


def noted() -> BaseException:
    error = ValueError("with notes")
    error.__notes__ = ["a\x00", "\ud800", BadText(), 7]  # type: ignore[list-item]
    return error


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


RAISED: dict[str, Callable[[], BaseException]] = {
    "plain": lambda: ValueError("boo"),
    "broken text": BadText,
    "odd text": OddText,
    "two arguments": lambda: TwoArguments(1, 2),
    "broken pickle with a lock": Unpicklable,
    "broken line number": lambda: BadLine("bad"),
    "broken notes": noted,
    "NUL": lambda: ValueError("x\x00y"),
    "surrogate": lambda: ValueError("\ud800"),
    "file name": lambda: OSError(2, "gone", os.fsdecode(b"\xff")),
    "huge": lambda: ValueError("x" * 50_000_000),
    "not ASCII": lambda: ValueError("🐟 ünï"),
    "HTML": lambda: ValueError("<script>alert(1)</script>"),
    "SystemExit": lambda: SystemExit(7),
    "SystemExit with anything": lambda: SystemExit(BadText()),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "StopIteration": StopIteration,
    "CancelledError": asyncio.CancelledError,
    "group": lambda: groups(1),
    "deep group": lambda: groups(2_000),
    "recursion": recursion,
    "long chain": chain,
    "circle": circle,
}

RETURNED: dict[str, tuple[Callable[[], Any], State]] = {
    "nan": (lambda: math.nan, STORED),
    "nested infinities": (lambda: {"a": [math.inf, {"b": (-math.inf, math.nan)}], "c": math.nan}, STORED),
    "NUL": (lambda: "x\x00y", STORED),
    "NUL in a key": (lambda: {"x\x00": 1}, STORED),
    "surrogate": (lambda: {"\ud800": "\udfff"}, STORED),
    "file name": (lambda: os.fsdecode(b"\xff"), STORED),
    "backslash": (lambda: "\\u0000 is fine", STORED),
    "big number": (lambda: 2**70, STORED),
    "10 MB": (lambda: "x" * 10_000_000, STORED),
    "tuple": (lambda: (1, (2, 3)), STORED),
    "whole numbers as keys": (lambda: {1: "a", 2: {3: math.nan}}, STORED),
    "model instance": (lambda: User(username="ada"), DEAD),
    "lazy text": (lambda: lazystr("later"), DEAD),
    "enum": (lambda: Colour.RED, DEAD),
    "set": (lambda: {1, 2}, DEAD),
    "bytes": (lambda: b"x", DEAD),
    "datetime": (lambda: datetime(2026, 1, 1, tzinfo=UTC), DEAD),
    "UUID": (uuid.uuid4, DEAD),
    "Decimal": (lambda: Decimal("1.5"), DEAD),
    "number of 5,000 digits": (lambda: 10**5_000, DEAD),
    "broken text": (BadText, DEAD),
    "tuple as a key": (lambda: {(1, 2): 3}, DEAD),
    "endless": (endless, STORED),
    "900 deep": (lambda: nested(900), STORED),
    "5,000 deep": (lambda: nested(5_000), STORED),
    "100,000 deep": (lambda: nested(100_000), STORED),
}

LOGGED: dict[str, tuple[Any, ...]] = {
    "NUL": ("a\x00b",),
    "surrogate": ("\ud800",),
    "file name": (os.fsdecode(b"\xff"),),
    "too few arguments": ("%s and %s", 1),
    "wrong argument": ("%d", "x"),
    "bytes": (b"\x00\xff",),
    "huge": ("x" * 10_000_000,),
    "broken repr": ("%r", BadText()),
}


@job("bad.raise", max_attempts=1)
def raises(name: str) -> None:
    raise RAISED[name]()


@job("bad.raise_async", max_attempts=1)
async def raises_in_async(name: str) -> None:
    raise RAISED[name]()


@job("bad.raise_atomic", max_attempts=1, atomic=True)
def raises_in_atomic(name: str) -> None:
    raise RAISED[name]()


@job("bad.return", max_attempts=1)
def returns(name: str) -> Any:
    return RETURNED[name][0]()


@job("bad.return_atomic", max_attempts=1, atomic=True)
def returns_in_atomic(name: str) -> Any:
    return RETURNED[name][0]()


@job("bad.log", max_attempts=1, takes_context=True)
def logs(ctx: JobContext, name: str) -> None:
    """Log to the run, to the site's log and with the progress, and go on though one of them refuses."""
    message, *values = LOGGED[name]
    logger.warning(message, *values)
    ctx.log(message)
    ctx.progress(1, math.nan, message)
    current().log(name)
