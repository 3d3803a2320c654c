"""Telling a database that is away, or not to be written to, from a statement that failed."""

from __future__ import annotations

# Connection exceptions, too many connections, shutdown and recovery, and a server that has become a standby.
OUTAGE_STATES = ("08", "53300", "57P", "25006")


def is_outage(error: Exception) -> bool:
    """Say whether others will have met the same: without a SQLSTATE, the server did not even answer."""
    state: str = getattr(error.__cause__, "sqlstate", None) or ""
    return not state or state.startswith(OUTAGE_STATES)
