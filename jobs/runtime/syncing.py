"""Bringing declared schedules into the database when a worker starts."""

from __future__ import annotations

import time

from django.db import DatabaseError, InterfaceError, connections

from .. import schedules
from ..schedules import Synced
from .logs import log_of

logger = log_of(__name__)

TRIES = 2
PAUSE_SECONDS = 0.3


def sync_schedules(using: str) -> None:
    """Sync, and log what that changed; a worker that cannot goes on with the schedules there are."""
    synced = _synced(using)
    if synced is None:
        return
    for name in synced.created:
        logger.info("schedule created schedule=%s", name)
    for name, columns in synced.updated.items():
        logger.info("schedule changed schedule=%s columns=%s", name, ",".join(columns))
    for name, columns in synced.kept.items():
        logger.info("schedule kept as a person changed it schedule=%s columns=%s", name, ",".join(columns))
    for name in synced.disabled:
        logger.warning("schedule disabled schedule=%s: it is no longer declared in code", name)
    for name, why in synced.refused.items():
        logger.error("schedule refused schedule=%s error=%s", name, why)


def _synced(using: str) -> Synced | None:
    for tries_left in reversed(range(TRIES)):
        try:
            return schedules.sync(using=using)
        except (DatabaseError, InterfaceError) as error:
            connections[using].close()
            if tries_left:
                # Another worker that starts may have them, or somebody who edits one.
                time.sleep(PAUSE_SECONDS)
            else:
                logger.warning("schedules not synced error=%s", " ".join(str(error).split()))
    return None
