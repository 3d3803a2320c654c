"""Renewing leases, storing progress, and telling handlers to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db import transaction

from .. import clock, leases, signals
from ..conf import settings
from ..exceptions import CancelRequested, LeaseLost, TimedOut
from ..leases import Answer, Beat, Renewal
from ..models import Worker
from ..models.locking import unlocked
from .execution import tell
from .holdings import Held, Holdings
from .ticker import Ticker

CHUNK = 500
LOOK_SECONDS = 1.0


class Heartbeat(Ticker):
    """
    Renews every lease each ``HEARTBEAT_SECONDS``; looks about once a second at
    clocks, progress and rows that were busy.

    A lease that this process's own clock says is over is presumed lost, for
    good: it is not renewed again and its handler is told.
    """

    name = "heartbeat"

    def __init__(
        self,
        holdings: Holdings,
        *,
        worker: str,
        on_wedged: Callable[[Held], None],
        on_drain: Callable[[], None],
        **ticker: Any,
    ) -> None:
        super().__init__(**ticker)
        self._holdings = holdings
        self._worker = worker
        self._on_wedged = on_wedged
        self._on_drain = on_drain
        self._next_beat = time.monotonic() + settings.heartbeat_seconds
        self._last_look = time.monotonic()
        self._busy: set[leases.Lease] = set()

    def beat_now(self) -> None:
        """Renew everything now, to see a cancel that has just been requested."""
        self._next_beat = time.monotonic()
        self.wake()

    def run_once(self) -> float:
        """Look at every lease; renew all of them if a heartbeat is due, else those with news."""
        held = self._holdings.snapshot()
        now = time.monotonic()
        self._notice_a_stop(now)
        for one in held:
            self._watch(one, now)
        is_beat = now >= self._next_beat
        self._busy &= {one.lease for one in held}
        self._renew([one for one in held if not one.is_lost and (is_beat or self._has_news(one))])
        if is_beat:
            self._next_beat = now + settings.heartbeat_seconds
            self._write_worker()
        return max(0.0, min(LOOK_SECONDS, self._next_beat - time.monotonic()))

    def _notice_a_stop(self, now: float) -> None:
        """A turn that comes a heartbeat late means that the whole process stood still (SIGSTOP, a frozen machine)."""
        if now - self._last_look > LOOK_SECONDS + settings.heartbeat_seconds:
            self._on_outage()
        self._last_look = now

    def _watch(self, held: Held, now: float) -> None:
        if not held.is_lost and held.deadline <= now:
            self._lose(held)
        context = held.context
        if context is None or not held.is_running or context.seconds_left > 0:
            return
        held.stop(TimedOut(f"The run has used up its timeout after {now - (held.started or now):.1f} s."))
        if context.seconds_left < -settings.stop_grace_seconds:
            self._on_wedged(held)

    def _lose(self, held: Held) -> None:
        held.is_lost = True
        held.stop(LeaseLost(f"Claim {held.lease.claim_no} of job #{held.lease.job_id} lost its lease."))
        if not held.is_settling:
            lease = held.lease
            tell(
                signals.lease_lost, held.claimed.kind, job_id=lease.job_id, claim_no=lease.claim_no, worker=self._worker
            )

    def _has_news(self, held: Held) -> bool:
        if held.lease in self._busy:
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
            self._lose(held)

    def _write_worker(self) -> None:
        """Last of all, and without waiting: the leases matter more than this process's own row."""
        rows = Worker.objects.using(self.using).filter(name=self._worker)
        with transaction.atomic(using=self.using):
            asked = list(unlocked(rows).values_list("drain_requested_at", flat=True))
            if asked:
                rows.update(heartbeat_at=clock.now(), running=self._holdings.running, refused=self._holdings.refused)
        if any(asked):
            self._on_drain()
