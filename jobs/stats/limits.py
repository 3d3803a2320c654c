"""A limit to what a page may cost the database: better no answer than one that slows the workers down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connections, transaction

from ..exceptions import TooSlow

READ_SECONDS = 3.0
QUERY_CANCELED = "57014"

_READ = (
    "SELECT current_setting('statement_timeout'), EXTRACT(EPOCH FROM current_setting('statement_timeout')::interval)"
)
_SET = "SELECT set_config('statement_timeout', %s, true)"


@contextmanager
def patience(*, using: str, seconds: float | None = None) -> Iterator[None]:
    """
    Raise ``TooSlow`` where a statement inside takes longer than ``seconds``; a shorter limit of the site stays.

    On databases other than PostgreSQL it does nothing. Inside a transaction
    it takes a savepoint, and afterwards the old limit holds again.
    """
    connection: Any = connections[using]
    if connection.vendor != "postgresql":
        yield
        return
    is_nested = connection.in_atomic_block
    try:
        with transaction.atomic(using=using), connection.cursor() as cursor:
            before = _shorten(cursor, READ_SECONDS if seconds is None else seconds)
            yield
            # What is set LOCAL outlives a savepoint that is released; one that is rolled back undoes it.
            if is_nested:
                cursor.execute(_SET, [before])
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != QUERY_CANCELED:
            raise
        raise TooSlow from error


def _shorten(cursor: Any, seconds: float) -> str:
    """Set the limit, unless there is a shorter one, and return what it was."""
    cursor.execute(_READ)
    before, limit = cursor.fetchone()
    if limit == 0 or limit > seconds:
        cursor.execute(_SET, [f"{round(seconds * 1000)}ms"])
    return str(before)
