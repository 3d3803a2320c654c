"""Database connections for the engine's own threads, and the care of those that handlers use."""

from __future__ import annotations

import copy
from typing import Any

from django.db import connections, reset_queries

from ..conf import settings

MOST_PATIENCE_SECONDS = 30


def use_own_connection(alias: str) -> None:
    """
    Give the calling thread a connection to ``alias`` that no handler shares.

    Unpooled, since handlers in long transactions could hold the whole pool
    and starve the heartbeat; READ COMMITTED, whatever the site uses, since
    the fenced statements re-read rows under their lock; and, on PostgreSQL,
    with TCP limits below the lease, so that a vanished server is noticed in time.
    """
    wrapper: Any = connections.create_connection(alias)
    config = copy.deepcopy(connections[alias].settings_dict)
    config["CONN_MAX_AGE"] = None
    config["AUTOCOMMIT"] = True
    if wrapper.vendor == "postgresql":
        config["OPTIONS"] = _postgresql_options(config.get("OPTIONS", {}))
    wrapper.settings_dict = config
    connections[alias] = wrapper


def _postgresql_options(site: dict[str, Any]) -> dict[str, Any]:
    from psycopg import IsolationLevel

    patience = min(max(2, int(settings.lease_seconds / 3)), MOST_PATIENCE_SECONDS)
    limits = {
        "connect_timeout": patience,
        "keepalives": 1,
        "keepalives_idle": max(1, patience // 2),
        "keepalives_interval": max(1, patience // 4),
        "keepalives_count": 2,
        "tcp_user_timeout": patience * 1000,
    }
    chosen = {name: value for name, value in site.items() if name != "pool"}
    return limits | chosen | {"isolation_level": IsolationLevel.READ_COMMITTED}


def tidy_handler_connections() -> None:
    """Close what a handler left in a transaction or broken; keep the rest open for the next job."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is None:
            continue
        if connection.in_atomic_block or not connection.get_autocommit():
            _abandon(connection)
        elif connection.errors_occurred:
            _close_if_unusable(connection)
        elif connection.settings_dict["OPTIONS"].get("pool"):
            # Back to the pool: a slot that kept its own would starve the others.
            connection.close()
        connection.health_check_done = False  # type: ignore[attr-defined]
        if connection.queries_logged:
            reset_queries()


def close_idle_handler_connections() -> None:
    """Close connections older than the site's CONN_MAX_AGE; called when a thread has been idle or busy for a minute."""
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()


def _close_if_unusable(connection: Any) -> None:
    if not connection.is_usable():
        connection.close()
    connection.errors_occurred = False


def _abandon(connection: Any) -> None:
    # close() refuses inside an atomic block, which the handler has left without leaving it.
    connection.in_atomic_block = False
    connection.savepoint_ids = []
    connection.run_on_commit = []
    connection.needs_rollback = False
    connection.close()
