"""When a worker takes on a job that other workers died of."""

from __future__ import annotations

import time

from ..conf import settings
from ..leases import Lease
from .holdings import Holdings


class SuspectWatch:
    """
    Sees to it that a job which killed workers runs alone, and does run.

    It is claimed by a worker that holds nothing. A worker that is never idle
    makes room for it after a heartbeat, and gives up making room after
    another, in case the job is not for this worker.
    """

    def __init__(self) -> None:
        self._since: float | None = None
        self._not_before = 0.0
        self._alone: list[Lease] = []

    def note(self, *, waiting: bool) -> None:
        if not waiting:
            self._since = None
        elif self._since is None:
            self._since = time.monotonic()

    def is_alone(self, holdings: Holdings) -> bool:
        self._alone = [lease for lease in self._alone if lease in holdings.leases()]
        return bool(self._alone)

    def wants_the_worker(self, holdings: Holdings) -> bool:
        now = time.monotonic()
        if self._since is None or now < self._not_before:
            return False
        if not len(holdings):
            return True
        waited = now - self._since
        if waited > 3 * settings.heartbeat_seconds:
            self._not_before = now + 2 * settings.heartbeat_seconds
            self._since = None
        return settings.heartbeat_seconds < waited <= 3 * settings.heartbeat_seconds

    def claimed(self, lease: list[Lease]) -> None:
        self._alone = lease
        self._since = None
        if not lease:
            self._not_before = time.monotonic() + settings.poll_seconds
