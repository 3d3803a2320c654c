"""What this process holds: each lease, when it ends by this process's own clock, and how far its job has come."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from ..context import JobContext
from ..exceptions import RunStopped
from ..leases import Claimed, Lease


class Held:
    """
    One claimed job on its way through the process.

    ``deadline`` is the monotonic time before the claim or renewal was sent,
    plus the lease: this side gives up before the database can. Once
    ``is_settling``, the lease may be gone because of this process itself.
    """

    __slots__ = (
        "claimed",
        "claimed_at",
        "context",
        "deadline",
        "is_finished",
        "is_lost",
        "is_settling",
        "lease",
        "started",
        "stop_reason",
        "stored_report",
    )

    def __init__(self, claimed: Claimed, *, claimed_at: float, lease_seconds: float) -> None:
        self.claimed = claimed
        self.claimed_at = claimed_at
        self.lease = claimed.lease
        self.deadline = claimed_at + lease_seconds
        self.context: JobContext | None = None
        self.started: float | None = None
        self.is_finished = False
        self.is_lost = False
        self.is_settling = False
        self.stop_reason: RunStopped | None = None
        self.stored_report: object = None

    @property
    def is_running(self) -> bool:
        return self.started is not None and not self.is_finished

    def is_over(self, now: float) -> bool:
        """Whether the lease is presumed lost, or about to be, at this monotonic time."""
        return self.is_lost or self.deadline <= now

    def stop(self, reason: RunStopped) -> None:
        """Tell the handler to stop; if it was not called yet, it need not be."""
        # Noted before the look at the context, as ``start`` looks after it has set one: neither misses the other.
        self.stop_reason = self.stop_reason or reason
        if self.context is not None:
            self.context.stop(reason)


class Holdings:
    """
    The leases of one process, from the claim to the answer that they are settled or lost.

    ``begun`` counts the handlers called since the start, ``unbegun`` the jobs
    held whose handler was not called yet, ``refused`` the outcomes that came
    after their lease was lost.
    """

    def __init__(self) -> None:
        self._held: dict[Lease, Held] = {}
        self._running = 0
        self._is_closed = False
        self._lock = threading.Lock()
        self.refused = 0
        self.begun = 0
        self.unbegun = 0

    def __len__(self) -> int:
        return len(self._held)

    @property
    def running(self) -> int:
        """How many handlers are being called."""
        return self._running

    @property
    def spoken_for(self) -> int:
        """Handlers called since the start, and those that will be called if nothing is handed back."""
        return self.begun + self.unbegun

    def add(self, claimed: Iterable[Claimed], *, claimed_at: float, lease_seconds: float) -> list[Held]:
        """Take in what a claim gave; ``claimed_at`` is the monotonic time before it was sent."""
        added = [Held(one, claimed_at=claimed_at, lease_seconds=lease_seconds) for one in claimed]
        with self._lock:
            self.unbegun += len(added)
            for held in added:
                self._held[held.lease] = held
        return added

    def close(self) -> None:
        """Let no handler be called from now on."""
        with self._lock:
            self._is_closed = True

    def start(self, held: Held, context: JobContext) -> bool:
        """Note that the handler of ``held`` is about to be called, unless it may not be: say whether it may."""
        with self._lock:
            if self._is_closed or held.is_settling or held.is_lost:
                return False
            held.context = context
            held.started = time.monotonic()
            self._running += 1
            self.begun += 1
            self.unbegun -= 1
        if held.stop_reason is not None:
            context.stop(held.stop_reason)
        return True

    def finish(self, held: Held) -> None:
        """Note that the handler has returned; the lease stays until it is settled."""
        with self._lock:
            held.is_finished = True
            self._running -= 1

    def remove(self, lease: Lease) -> None:
        with self._lock:
            held = self._held.pop(lease, None)
            if held is not None and held.started is None:
                self.unbegun -= 1

    def snapshot(self) -> list[Held]:
        with self._lock:
            return list(self._held.values())

    def leases(self) -> set[Lease]:
        with self._lock:
            return set(self._held)
