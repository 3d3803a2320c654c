"""What COMMIT would do for a handler, inside a test's transaction that never commits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import DatabaseError, connections

from ..runtime import execution
from ..runtime.calling import call

logger = logging.getLogger(__name__)


@contextmanager
def as_if_committed() -> Iterator[None]:
    """
    Run the on_commit callbacks that the body registered when it ends, on every connection; leave earlier ones alone.

    Where there is no open transaction, Django itself does, and this does nothing.
    """
    with ExitStack() as stack:
        for connection in connections.all(initialized_only=True):
            if connection.in_atomic_block:
                stack.enter_context(_on_one(connection))
        yield


@contextmanager
def _on_one(connection: Any) -> Iterator[None]:
    start = len(connection.run_on_commit)
    try:
        with _repaired(connection):
            yield
    finally:
        _run_callbacks(connection, start)


def _run_callbacks(connection: Any, start: int) -> None:
    try:
        while len(connection.run_on_commit) > start:
            _, callback, is_robust = connection.run_on_commit.pop(start)
            with _repaired(connection):
                _call(callback, is_robust=is_robust)
    finally:
        # As after a real COMMIT, one that fails takes the rest with it.
        del connection.run_on_commit[start:]


def _call(callback: Callable[[], Any], *, is_robust: bool) -> None:
    ended = call(callback)
    if ended.error is None:
        return
    if not is_robust:
        raise ended.error
    logger.error("robust on_commit callback failed callback=%r error=%s", callback, execution.safe_text(ended.error))


@contextmanager
def _repaired(connection: Any) -> Iterator[None]:
    """
    Undo the body if it leaves the transaction unusable.

    Outside a test an error would have ended a transaction of the body's own.
    The savepoint is not an ``atomic()``, in which handlers could not open a
    durable one.
    """
    start, point = len(connection.run_on_commit), connection.savepoint()
    try:
        yield
    finally:
        try:
            connection.savepoint_commit(point)
        except DatabaseError:
            connection.needs_rollback = False
            connection.savepoint_rollback(point)
            del connection.run_on_commit[start:]
