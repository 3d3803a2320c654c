"""Telling handlers that their lease or their time is over, whatever the database does meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .. import signals
from ..conf import settings
from ..exceptions import LeaseLost, TimedOut
from .execution import tell
from .holdings import Held, Holdings
from .ticker import Ticker

LOOK_SECONDS = 0.5


class Watch(Ticker):
    """
    Looks at the clocks of all that is held, and never at the database, which may keep the heartbeat waiting.

    A lease that this process's own clock says is over is presumed lost, for
    good: it is not renewed again and its handler is told.
    """

    name = "watch"

    def __init__(
        self,
        holdings: Holdings,
        *,
        worker: str,
        on_wedged: Callable[[Held], None],
        on_freeze: Callable[[], None],
        **ticker: Any,
    ) -> None:
        super().__init__(**ticker)
        self._holdings = holdings
        self._worker = worker
        self._on_wedged = on_wedged
        self._on_freeze = on_freeze
        self._last_look = time.monotonic()

    def run_once(self) -> float:
        """Look at every lease and every timeout once."""
        self.notice_a_freeze()
        now = time.monotonic()
        for held in self._holdings.snapshot():
            if not held.is_lost and held.deadline <= now:
                lose(held, worker=self._worker)
            self._look_at_the_timeout(held, now)
        return LOOK_SECONDS

    def notice_a_freeze(self) -> None:
        """Take a turn that is a heartbeat late for a whole process that stood still (SIGSTOP, a frozen machine)."""
        now = time.monotonic()
        if now - self._last_look > LOOK_SECONDS + settings.heartbeat_seconds:
            self._on_freeze()
        self._last_look = now

    def _look_at_the_timeout(self, held: Held, now: float) -> None:
        context = held.context
        if context is None or not held.is_running or context.seconds_left > 0:
            return
        held.stop(TimedOut(f"The run has used up its timeout after {now - (held.started or now):.1f} s."))
        if context.seconds_left < -settings.stop_grace_seconds:
            self._on_wedged(held)


def lose(held: Held, *, worker: str) -> None:
    """Presume the lease lost and tell the handler, once."""
    if held.is_lost:
        return
    held.is_lost = True
    held.stop(LeaseLost(f"Claim {held.lease.claim_no} of job #{held.lease.job_id} lost its lease."))
    if not held.is_settling:
        lease = held.lease
        tell(signals.lease_lost, held.claimed.kind, job_id=lease.job_id, claim_no=lease.claim_no, worker=worker)
