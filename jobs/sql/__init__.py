"""
The statements that the ORM cannot express, as constants.

Rows travel in as one JSON text and are spread out by the database, so that
a statement has the same shape for one row and for a thousand.
"""

from __future__ import annotations

from typing import Any

from .inserting import DECIDE, ENQUEUE, RETURNING_ALL, RETURNING_KEY
from .leasing import RENEW_POSTGRESQL, SETTLE_POSTGRESQL, TAKE_POSTGRESQL
from .looking import OLDEST_READY, QUEUE_HEADS, SURVEY
from .sessions import (
    DEADLOCK_DETECTED,
    LOCK_NOT_AVAILABLE,
    NOTIFY,
    PATIENCE_POSTGRESQL,
    READ_COMMITTED_POSTGRESQL,
    SYNC_PATIENCE_POSTGRESQL,
    TUNE_POSTGRESQL,
)
from .ticking import TICK_POSTGRESQL

__all__ = [
    "DEADLOCK_DETECTED",
    "DECIDE",
    "ENQUEUE",
    "LOCK_NOT_AVAILABLE",
    "NOTIFY",
    "OLDEST_READY",
    "PATIENCE_POSTGRESQL",
    "QUEUE_HEADS",
    "READ_COMMITTED_POSTGRESQL",
    "RENEW_POSTGRESQL",
    "RETURNING_ALL",
    "RETURNING_KEY",
    "SETTLE_POSTGRESQL",
    "SURVEY",
    "SYNC_PATIENCE_POSTGRESQL",
    "TAKE_POSTGRESQL",
    "TICK_POSTGRESQL",
    "TUNE_POSTGRESQL",
    "fetch",
    "run",
]


def fetch(connection: Any, statement: str, params: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """
    Run ``statement`` on a Django connection and return its rows, none if it has none to return.

    On PostgreSQL the parameters are bound by the server: Django's default is
    to write them into the statement, which doubles the time of a large batch.
    """
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return list(cursor.fetchall())
    from psycopg import Cursor

    connection.close_if_health_check_failed()
    connection.ensure_connection()
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrap(Cursor(connection.connection)) as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall()) if cursor.description else []


def run(connection: Any, statement: str) -> None:
    """Run a statement that has no parameters and returns nothing."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
