"""What a handler sees of its own run: who it is, how to report, and whether to stop."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from .conf import settings
from .exceptions import JobsError, RunStopped
from .payload import storable_text

_current: ContextVar[JobContext | None] = ContextVar("jobs_current", default=None)


class JobContext:
    """
    The running job, for its handler (``takes_context=True``) or anything below it (``jobs.current()``).

    ``progress`` and ``log`` only write to memory; the worker's heartbeat
    stores them about once a second. Both may be called from any thread.
    """

    def __init__(
        self,
        *,
        job_id: int,
        kind: str,
        queue: str,
        attempt: int,
        max_attempts: int,
        claim_no: int,
        enqueued_at: datetime,
        metadata: Mapping[str, Any],
        timeout_seconds: float,
        scheduled_for: datetime | None = None,
    ) -> None:
        self.job_id = job_id
        self.kind = kind
        self.queue = queue
        self.attempt = attempt
        self.max_attempts = max_attempts
        self.claim_no = claim_no
        self.enqueued_at = enqueued_at
        self.metadata = metadata
        self.scheduled_for = scheduled_for
        self._deadline = time.monotonic() + timeout_seconds
        self._stop: RunStopped | None = None
        self._when_stopped: Callable[[], object] | None = None
        self._progress: dict[str, Any] | None = None
        self._log: deque[str] = deque()
        self._log_chars = 0
        self._lock = threading.Lock()

    @property
    def fencing_token(self) -> int:
        """
        A number that grows with every claim of this job: let the systems you write to refuse a smaller one.

        It counts for this job alone, so tokens of two jobs cannot be compared.
        """
        return self.claim_no

    @property
    def idempotency_key(self) -> str:
        """A text that is the same in every attempt of this job and in no other job."""
        return f"{self.job_id}-{self.enqueued_at.timestamp():.3f}"

    @property
    def seconds_left(self) -> float:
        """How long until the timeout; negative once it has passed."""
        return self._deadline - time.monotonic()

    @property
    def should_stop(self) -> bool:
        """Whether ``check()`` would raise: the job is cancelled, timed out, its lease lost or its worker stopping."""
        return self._stop is not None

    def check(self) -> None:
        """Raise the ``RunStopped`` that says why this run must end; return at once if it may go on."""
        if self._stop is not None:
            raise self._stop

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the run is, then ``check()``."""
        self._progress = {
            "done": _storable_number(done),
            "total": None if total is None else _storable_number(total),
            "message": storable_text(str(message), most=500),
        }
        self.check()

    def log(self, message: object) -> None:
        """Keep a line with this run; only the last ``JOBS['LOG_MAX_CHARS']`` characters survive."""
        most = settings.log_max_chars
        if most == 0:
            return
        line = storable_text(str(message)[-most:], most=most)[-most:]
        with self._lock:
            self._log.append(line)
            self._log_chars += len(line) + 1
            while self._log_chars - 1 > most:
                self._log_chars -= len(self._log.popleft()) + 1

    @property
    def stop_reason(self) -> RunStopped | None:
        return self._stop

    def stop(self, reason: RunStopped) -> None:
        """Make ``check()`` raise ``reason`` from now on; the first reason stays. Called by the worker."""
        with self._lock:
            if self._stop is not None:
                return
            self._stop, callback = reason, self._when_stopped
        if callback is not None:
            callback()

    def when_stopped(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once, when the run is told to stop, at once if it has been already. Used for async handlers."""
        with self._lock:
            self._when_stopped, is_stopped = callback, self._stop is not None
        if is_stopped:
            callback()

    def snapshot(self) -> tuple[dict[str, Any] | None, str]:
        """Return the last progress and the log so far, for the heartbeat."""
        with self._lock:
            return self._progress, "\n".join(self._log)


def _storable_number(number: float) -> float | None:
    # A Decimal, a Fraction or a huge int would otherwise fail in the heartbeat, far from its cause.
    if isinstance(number, int) and abs(number) < 2**63:
        return int(number)
    try:
        as_float = float(number)
    except OverflowError:
        return None
    return as_float if math.isfinite(as_float) else None


def current() -> JobContext:
    """Return the context of the job this code runs in; raise ``JobsError`` outside one."""
    context = _current.get()
    if context is None:
        raise JobsError("No job is running here: jobs.current() works only below a handler that a worker has called.")
    return context


def enter(context: JobContext | None) -> Any:
    """Make ``context`` the current one; returns the token for ``leave``."""
    return _current.set(context)


def leave(token: Any) -> None:
    _current.reset(token)
