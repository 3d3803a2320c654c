"""Rescuing jobs of dead workers, and keeping the tables small."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import leases, maintenance, operations, schedules, signals
from ..conf import settings
from .execution import tell
from .ticker import Ticker

TIDY_SECONDS = 5.0
PRUNE_SECONDS = 60.0
HEAL_SECONDS = 60.0
RESCUE_CHUNK = 500


class Janitor(Ticker):
    """
    Rescues as soon as the scheduler saw an expired lease; tidies every few
    seconds, and prunes and looks after schedules every minute.

    After an outage it waits one heartbeat before it rescues anybody, so that
    owners who survived can renew first.
    """

    name = "janitor"

    def __init__(
        self,
        *,
        last_outage: Callable[[], float],
        on_rescue: Callable[[], None],
        queues_met: Callable[[], set[str]],
        **ticker: Any,
    ) -> None:
        super().__init__(**ticker)
        self._last_outage = last_outage
        self._on_rescue = on_rescue
        self._queues_met = queues_met
        self._queues_written: set[str] = set()
        self._next_tidy = time.monotonic()
        self._next_prune = time.monotonic() + PRUNE_SECONDS / 2
        self._next_heal = time.monotonic()
        self._healer = schedules.Healer(using=self.using)
        self._pruning: Iterator[tuple[str, int]] | None = None

    def run_once(self) -> float:
        """Rescue, then do what else is due: at most one batch of pruning a turn, so that rescue never waits for it."""
        self.rescue()
        now = time.monotonic()
        if now >= self._next_tidy:
            self._next_tidy = now + TIDY_SECONDS
            self._tidy()
        if now >= self._next_heal:
            self._next_heal = now + HEAL_SECONDS
            self._healer.run_once()
        if now >= self._next_prune:
            self._prune()
        return 0.05 if self._pruning is not None else min(TIDY_SECONDS, settings.lease_seconds)

    def rescue(self) -> None:
        """Take back every expired lease, unless this process has just come back from an outage."""
        if time.monotonic() - self._last_outage() < settings.heartbeat_seconds:
            return
        while True:
            rescued = leases.rescue(limit=RESCUE_CHUNK, using=self.using)
            for one in rescued:
                tell(
                    signals.job_rescued,
                    one.kind,
                    job_id=one.lease.job_id,
                    claim_no=one.lease.claim_no,
                    worker=one.worker,
                    verdict=one.verdict,
                )
            if rescued:
                self._on_rescue()
            if len(rescued) < RESCUE_CHUNK:
                return

    def _tidy(self) -> None:
        maintenance.expire(using=self.using)
        new = self._queues_met() - self._queues_written
        if new and maintenance.meet_queues(new, using=self.using):
            self._queues_written |= new
        operations.bulk.close_abandoned(using=self.using)
        for name in maintenance.resume_queues(using=self.using):
            tell(signals.queue_resumed, name, queue=name)

    def _prune(self) -> None:
        if self._pruning is None:
            self._pruning = maintenance.prune(using=self.using)
        batch = next(self._pruning, None)
        if batch is None:
            self._pruning = None
            self._next_prune = time.monotonic() + PRUNE_SECONDS
        else:
            tell(signals.jobs_pruned, batch[0], name=batch[0], count=batch[1])
