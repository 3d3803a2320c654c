"""The slots: threads that take what was claimed and call its handler."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from django.db import connections

from .. import registry, signals
from ..conf import settings
from ..context import JobContext
from ..outcomes import Expired, Failed, Outcome, Released
from ..registry import JobDefinition
from . import atomic, execution
from .async_loop import AsyncLoop
from .calling import call
from .execution import describe, safe_text, tell
from .holdings import Held, Holdings
from .logs import log_of
from .own_connection import close_idle_handler_connections, tidy_handler_connections
from .pace import Pace
from .settler import Settler

logger = log_of(__name__)

CARE_SECONDS = 60.0


class Executors:
    """
    ``concurrency`` threads behind one queue of claimed jobs.

    An ``async def`` handler runs on the event loop while its slot waits, so
    that concurrency means the same for both.
    """

    def __init__(
        self,
        holdings: Holdings,
        settler: Settler,
        pace: Pace,
        *,
        concurrency: int,
        using: str,
        on_room: Callable[[int], None],
    ) -> None:
        self.concurrency = concurrency
        self.last_taken = time.monotonic()
        self._holdings = holdings
        self._settler = settler
        self._pace = pace
        self._using = using
        self._on_room = on_room
        self._epoch = 0
        self._of_thread = threading.local()
        self._ready: queue.SimpleQueue[Held | None] = queue.SimpleQueue()
        self._async = AsyncLoop()
        self._threads = [
            threading.Thread(target=self._slot, name=f"jobs-slot-{number}", daemon=True)
            for number in range(concurrency)
        ]

    @property
    def waiting(self) -> int:
        """Claimed jobs that no slot has taken yet."""
        return self._ready.qsize()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def are_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def distrust_connections(self) -> None:
        """After an outage: have every slot close the connections it holds before its next job."""
        self._epoch += 1

    def put(self, held: list[Held]) -> None:
        for one in held:
            self._ready.put(one)

    def take_back(self) -> list[Held]:
        """Remove and return what waits, so that it can be handed back."""
        taken: list[Held] = []
        while True:
            try:
                held = self._ready.get_nowait()
            except queue.Empty:
                return taken
            if held is not None:
                taken.append(held)

    def stop(self) -> None:
        """Let each slot end after its present job."""
        for _ in self._threads:
            self._ready.put(None)

    def join(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for the slots to end; say whether they all did."""
        until = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        self._async.stop()
        return not any(thread.is_alive() for thread in self._threads)

    def _slot(self) -> None:
        cared = time.monotonic()
        while (held := self._next()) is not None:
            self.last_taken = time.monotonic()
            self._on_room(self._ready.qsize())
            self._after_epoch()
            # What a handler activates, a language or a time zone, stays with it.
            handled = call(copy_context().run, self._handle, held)
            if handled.error is not None:
                self._failed(held, handled.error)
            if time.monotonic() - cared > CARE_SECONDS:
                cared = time.monotonic()
                close_idle_handler_connections()
        connections.close_all()

    def _after_epoch(self) -> None:
        if getattr(self._of_thread, "epoch", 0) != self._epoch:
            self._of_thread.epoch = self._epoch
            connections.close_all()

    def _next(self) -> Held | None:
        """Wait for a job, or for None, which ends the slot."""
        if self._ready.empty():
            # After a long job nothing waits, and the claimer would learn of this slot at its next poll.
            self._on_room(0)
        while True:
            try:
                return self._ready.get(timeout=CARE_SECONDS)
            except queue.Empty:
                close_idle_handler_connections()

    def _handle(self, held: Held) -> None:
        while self._settler.is_behind and not self._is_too_late(held):
            time.sleep(0.01)
        definition = registry.find(held.claimed.kind)
        if definition is None or held.stop_reason is not None or self._is_too_late(held):
            # If a person wants it cancelled, the database makes that of it.
            self._settler.submit(held, Released(started=False))
        elif _has_expired(held):
            self._settler.submit(held, Expired())
        else:
            self._run(held, definition)

    def _failed(self, held: Held, error: BaseException) -> None:
        """Something around the handler broke, and not its own code: the slot goes on, the job does not."""
        logger.error("slot failed job=%s", held.lease.job_id, exc_info=error)
        if held.is_running:
            self._holdings.finish(held)
        self._settler.submit(held, Failed(failure=describe(error), is_hopeless=True))

    def _is_too_late(self, held: Held) -> bool:
        """Whether the lease might end before a heartbeat could renew it."""
        return held.is_lost or held.deadline - time.monotonic() <= settings.heartbeat_seconds

    def _run(self, held: Held, definition: JobDefinition[..., Any]) -> None:
        context = context_of(held)
        if not self._holdings.start(held, context):
            self._settler.submit(held, Released(started=False))
            return
        # Within the run: a receiver that hangs is subject to the timeout too.
        tell(signals.run_started, held.claimed.kind, context=context)
        body = self._body(held, definition, context)
        if definition.options.atomic:
            outcome = atomic.run(held, definition, body, context, using=self._using)
        else:
            outcome = execution.run(definition, body, context)
        self._holdings.finish(held)
        self._finish(held, outcome)

    def _finish(self, held: Held, outcome: Outcome) -> None:
        if held.started is not None:
            self._pace.observe(time.monotonic() - held.started)
        tidied = call(tidy_handler_connections)
        if tidied.error is not None:
            logger.error("connections not tidied job=%s error=%s", held.lease.job_id, safe_text(tidied.error))
        if isinstance(outcome, atomic.AlreadySettled):
            self._settler.note_settled(held, outcome)
        else:
            self._settler.submit(held, outcome)

    def _body(self, held: Held, definition: JobDefinition[..., Any], context: JobContext) -> Callable[[], Any]:
        claimed = held.claimed
        first = [context] if definition.options.takes_context else []
        if definition.is_async:
            return lambda: self._async.run(definition.function(*first, *claimed.args, **claimed.payload), context)
        return lambda: definition.function(*first, *claimed.args, **claimed.payload)


def context_of(held: Held) -> JobContext:
    """Return what the handler of ``held`` will see of its run."""
    claimed = held.claimed
    return JobContext(
        job_id=claimed.job_id,
        kind=claimed.kind,
        queue=claimed.queue,
        attempt=claimed.attempt,
        max_attempts=claimed.max_attempts,
        claim_no=claimed.claim_no,
        enqueued_at=claimed.enqueued_at,
        metadata=claimed.metadata,
        scheduled_for=claimed.scheduled_for,
        timeout_seconds=settings.timeout_seconds if claimed.timeout is None else claimed.timeout,
    )


def _has_expired(held: Held) -> bool:
    left = held.claimed.expires_in
    return left is not None and time.monotonic() - held.claimed_at >= left.total_seconds()
