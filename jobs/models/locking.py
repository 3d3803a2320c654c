"""Row locks that never wait."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import connections, router
from django.db.models import QuerySet

Rows = TypeVar("Rows", bound=QuerySet[Any])


def unlocked(rows: Rows, *, of_any_key: bool = False) -> Rows:
    """
    Lock the rows of this queryset, leaving out those that others have locked.

    The lock leaves the key alone (NO KEY) where the database can say so, so
    that foreign keys may still be checked against it; ``of_any_key`` takes
    the stronger one that DELETE needs. On SQLite, where a transaction has the
    database to itself, it changes nothing.
    """
    features = connections[rows._db or router.db_for_write(rows.model)].features  # type: ignore[attr-defined]
    if not features.has_select_for_update_skip_locked:
        return rows
    no_key = features.has_select_for_no_key_update and not of_any_key
    return rows.select_for_update(skip_locked=True, no_key=no_key)
