"""The row by which others see this worker process."""

from __future__ import annotations

import os
import random
import secrets
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, connections

from .. import __version__, clock, registry
from ..models import Worker
from .logs import log_of
from .plan import Plan

logger = log_of(__name__)

LONGEST_PAUSE = 5.0
SKEW_SECONDS = 1.0


class Record:
    """This process's row in the table of workers. Its name is made anew at each start and never used again."""

    def __init__(self, plan: Plan) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self._plan = plan

    def create(self, is_stopping: Callable[[], bool], *, on_wait: Callable[[], object]) -> bool:
        """
        Write the row, waiting for the database if it is away; say whether it was written before ``is_stopping``.

        ``on_wait`` is called at each failed try, and once more when the wait is over.
        """
        failures = 0
        while not is_stopping():
            try:
                self.insert()
            except (OperationalError, InterfaceError) as error:
                connections[self._plan.using].close()
                # SQLite's word for a missing table; waiting would not bring it.
                if "no such table" in str(error):
                    raise
                if not failures:
                    logger.warning("waiting for the database error=%s", " ".join(str(error).split()))
                failures += 1
                on_wait()
                _pause(min(0.1 * 2 ** min(failures, 10), LONGEST_PAUSE), is_stopping)
            else:
                if failures:
                    on_wait()
                return True
        return False

    def update(self, **changes: Any) -> None:
        """Write to the row, or log that the database is away: nothing depends on it."""
        try:
            Worker.objects.using(self._plan.using).filter(name=self.name).update(**changes)
        except (DatabaseError, InterfaceError):
            connections[self._plan.using].close()
            logger.warning("worker row not written worker=%s: the database is away", self.name)

    def insert(self) -> None:
        """Write the row, now."""
        skew = clock_skew(self._plan.using)
        if abs(skew) > SKEW_SECONDS:
            logger.warning("clock skew worker=%s seconds=%.1f: jobs follow the database's clock", self.name, skew)
        Worker.objects.using(self._plan.using).create(
            name=self.name,
            hostname=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            queues=list(self._plan.queues),
            kinds=registry.kinds(),
            concurrency=self._plan.concurrency,
            clock_skew=skew,
            started_at=clock.now(),
            heartbeat_at=clock.now(),
        )


def _pause(longest: float, is_stopping: Callable[[], bool]) -> None:
    until = time.monotonic() + longest * random.uniform(0.5, 1)  # noqa: S311
    while time.monotonic() < until and not is_stopping():
        time.sleep(0.05)


def clock_skew(using: str) -> float:
    """Return how many seconds this host's clock is ahead of the database's; half the round trip is the error."""
    sent = time.monotonic()
    theirs = clock.read(using)
    trip = time.monotonic() - sent
    # The one reading of this host's clock: it is what is being measured.
    ours = datetime.now(UTC)  # noqa: TID251
    if theirs.tzinfo is None:
        ours = ours.astimezone().replace(tzinfo=None)
    return (ours - theirs).total_seconds() - trip / 2
