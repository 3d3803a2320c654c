"""Telling what the database refuses to store from a database that is away."""

from __future__ import annotations

from django.db import DataError, IntegrityError

# Data, constraints, limits, and what a trigger of the site's raises.
CLASSES = ("22", "23", "54", "P0")


def is_refused(error: Exception) -> bool:
    """Say whether it is one row that is at fault, by the class of its SQLSTATE, so that others may pass without it."""
    state: str = getattr(error.__cause__, "sqlstate", None) or ""
    return state.startswith(CLASSES) or (not state and isinstance(error, DataError | IntegrityError))
