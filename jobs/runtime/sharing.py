"""Whether a connection has a session of the server's to itself: not behind PgBouncer in transaction mode."""

from __future__ import annotations

from typing import Any

TURNS = 10


def has_own_session(connection: Any) -> bool:
    """
    Say whether what ``connection``, on PostgreSQL, sets in its session will stay there.

    A pooler gives out process ids of its own. If that of the session differs,
    a second connection shows whether the sessions are dealt out anew with
    each transaction.
    """
    if _session(connection) == connection.connection.info.backend_pid:
        return True
    other = connection.copy()
    try:
        turns = [(_session(connection), _session(other)) for _ in range(TURNS)]
    finally:
        other.close()
    ours, theirs = map(set, zip(*turns, strict=True))
    return len(ours) == 1 and not ours & theirs


def _session(connection: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT PG_BACKEND_PID()")
        return int(cursor.fetchone()[0])
