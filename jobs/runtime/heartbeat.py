"""Renewing leases, storing progress, and hearing of cancels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db import transaction

from .. import clock, leases
from ..conf import settings
from ..exceptions import CancelRequested
from ..leases import Answer, Beat, Renewal
from ..models import Worker
from ..models.locking import unlocked
from .holdings import Held, Holdings
from .ticker import Ticker
from .watch import lose

CHUNK = 500
LOOK_SECONDS = 1.0


class Heartbeat(Ticker):
    """
    Renews every lease each ``HEARTBEAT_SECONDS``; looks about once a second at
    progress and rows that were busy.
    """

    name = "heartbeat"

    def __init__(
        self,
        holdings: Holdings,
        *,
        worker: str,
        on_drain: Callable[[], None],
        on_missing: Callable[[], None],
        **ticker: Any,
    ) -> None:
        super().__init__(**ticker)
        self._holdings = holdings
        self._worker = worker
        self._on_drain = on_drain
        self._on_missing = on_missing
        self._next_beat = time.monotonic() + settings.heartbeat_seconds
        self._asked = -1e9
        self._busy: set[leases.Lease] = set()

    def beat_now(self) -> None:
        """Renew everything now, to see a cancel that has just been requested."""
        self._asked = self._next_beat = time.monotonic()
        self.wake()

    def run_once(self) -> float:
        """Look at every lease; renew all of them if a heartbeat is due, else those with news."""
        held = self._holdings.snapshot()
        now, due = time.monotonic(), self._next_beat
        is_beat = now >= due
        self._busy &= {one.lease for one in held}
        self._renew([one for one in held if not one.is_over(now) and (is_beat or self._has_news(one))])
        if is_beat:
            self._write_worker()
            # Unless one was asked for meanwhile: that one must see what this one came too early for.
            if self._next_beat == due:
                self._next_beat = now + settings.heartbeat_seconds
        return max(0.0, min(LOOK_SECONDS, self._next_beat - time.monotonic()))

    def _concerns_all(self, error: Exception) -> bool:
        """Whatever keeps this process from renewing may keep others too."""
        return True

    def _has_news(self, held: Held) -> bool:
        # A claim that was under way when a beat was asked for comes back after it.
        if held.lease in self._busy or held.deadline < self._asked + settings.lease_seconds:
            return True
        return (
            held.is_running
            and held.context is not None
            and held.context.snapshot() != (held.stored_report or (None, ""))
        )

    def _renew(self, held: list[Held]) -> None:
        for start in range(0, len(held), CHUNK):
            chunk = held[start : start + CHUNK]
            sent = time.monotonic()
            beats = [self._beat(one, sent) for one in chunk]
            renewals = leases.renew(beats, lease_seconds=settings.lease_seconds, using=self.using)
            for one, beat in zip(chunk, beats, strict=True):
                self._answered(one, beat, renewals[one.lease], sent)

    def _beat(self, held: Held, now: float) -> Beat:
        running = None if held.started is None else now - held.started
        report = held.context.snapshot() if held.context is not None else (None, "")
        if report == held.stored_report:
            return Beat(lease=held.lease, running=running)
        return Beat(lease=held.lease, running=running, progress=report[0], log=report[1] or None)

    def _answered(self, held: Held, beat: Beat, renewal: Renewal, sent: float) -> None:
        self._busy.discard(held.lease)
        if renewal.cancel_requested:
            held.stop(CancelRequested())
        if renewal.answer is Answer.DONE:
            held.deadline = sent + settings.lease_seconds
            if beat.progress is not None or beat.log is not None:
                held.stored_report = (beat.progress, beat.log or "")
        elif renewal.answer is Answer.BUSY:
            self._busy.add(held.lease)
        elif not held.is_settling:
            lose(held, worker=self._worker)

    def _write_worker(self) -> None:
        """Last of all, and without waiting: the leases matter more than this process's own row."""
        rows = Worker.objects.using(self.using).filter(name=self._worker)
        with transaction.atomic(using=self.using):
            asked = list(unlocked(rows).values_list("drain_requested_at", flat=True))
            if asked:
                rows.update(heartbeat_at=clock.now(), running=self._holdings.running, refused=self._holdings.refused)
        if any(asked):
            self._on_drain()
        if not asked and not rows.exists():
            # Deleted, as after a long sleep: unseen, it could not be drained.
            self._on_missing()
