"""One worker process, from its row in the table to its exit code."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from django.db import DatabaseError, InterfaceError, connections

from .. import __version__, clock, registry, signals
from ..conf import settings
from ..exceptions import WorkerStopping
from ..models import Job, Queue
from ..models import Worker as WorkerRow
from ..outcomes import Failed, Outcome, Released
from .claimer import Claimer
from .execution import describe
from .executor import Executors
from .heartbeat import Heartbeat
from .holdings import Held, Holdings
from .janitor import Janitor
from .own_connection import use_own_connection
from .pace import Pace
from .scheduler import Scheduler
from .settler import Settler
from .ticker import Ticker

logger = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_BROKEN = 1
EXIT_WEDGED = 75
OBEY_SECONDS = 5.0
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the command line asked of a worker. ``queues`` empty means all; ``grace`` is seconds."""

    concurrency: int = 4
    queues: Sequence[str] = ()
    using: str = "default"
    burst: bool = False
    grace: float | None = None


class Worker:
    """
    Puts the threads together, waits, and takes them apart in the right order.

    ``run`` returns the exit code: 0 after a stop that was asked for or a
    burst that found no more to do; 1 when a thread of the engine failed; 75
    when a handler ignored its timeout, so that the process must be replaced.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.holdings = Holdings()
        self._stop = threading.Event()
        self._reason = "finished"
        self._exit_code = EXIT_OK
        self._wedged: list[Held] = []
        self._last_outage = -1e9
        self.all_threads_ended = True
        self._build()

    def _build(self) -> None:
        common = {"using": self.plan.using, "on_outage": self._note_outage, "on_death": self._die}
        pace = Pace(slots=self.plan.concurrency, most=settings.claim_ahead)
        self.settler = Settler(self.holdings, worker=self.name, **common)
        self.executors = Executors(
            self.holdings,
            self.settler,
            pace,
            concurrency=self.plan.concurrency,
            using=self.plan.using,
            on_room=lambda waiting: self.claimer.note_room(waiting),
        )
        self.claimer = Claimer(
            self.holdings, self.executors, self.settler, pace, worker=self.name, queues=self.plan.queues, **common
        )
        self.heartbeat = Heartbeat(self.holdings, worker=self.name, on_wedged=self._give_up, **common)
        self.janitor = Janitor(
            last_outage=lambda: self._last_outage,
            on_rescue=lambda: self.claimer.note(pending=True, suspects=True),
            **common,
        )
        self.scheduler = Scheduler(self.claimer, on_expired_lease=self.janitor.wake, **common)

    @property
    def _tickers(self) -> list[Ticker]:
        return [self.settler, self.heartbeat, self.claimer, self.scheduler, self.janitor]

    def run(self) -> int:
        """Work until asked to stop, or in a burst until nothing is due; return the exit code."""
        use_own_connection(self.plan.using)
        self._register()
        signals.worker_started.send_robust(self.name, worker=self)
        for ticker in self._tickers:
            ticker.start()
        self.executors.start()
        while not self._stop.wait(LOOK_SECONDS if self.plan.burst else 1.0):
            if self.plan.burst and self._is_drained():
                break
        return self._shut_down()

    def stop(self, reason: str = "asked to stop") -> None:
        """Begin to shut down: from a signal handler, another thread, or a ticker that failed."""
        if not self._stop.is_set():
            self._reason = reason
            self._stop.set()

    def handle_signals(self) -> None:
        """Stop on the first SIGTERM or SIGINT; exit at once on the second. Call it in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._stop.is_set():
            os._exit(128 + number)
        self.stop(signal.Signals(number).name)

    def _register(self) -> None:
        WorkerRow.objects.using(self.plan.using).create(
            name=self.name,
            hostname=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            queues=list(self.plan.queues),
            kinds=registry.kinds(),
            concurrency=self.plan.concurrency,
            started_at=clock.now(),
            heartbeat_at=clock.now(),
        )

    def _describe(self, **changes: Any) -> None:
        """Write to this worker's row, or log that the database is away: nothing depends on it."""
        try:
            WorkerRow.objects.using(self.plan.using).filter(name=self.name).update(**changes)
        except (DatabaseError, InterfaceError):
            connections[self.plan.using].close()
            logger.warning("worker row not written worker=%s: the database is away", self.name)

    def _is_drained(self) -> bool:
        """Whether nothing is due that this worker could run, and nothing is under way in it."""
        if len(self.holdings):
            return False
        jobs = Job.objects.using(self.plan.using)
        ready = jobs.pending()
        if self.plan.queues:
            ready = ready.filter(queue__in=list(self.plan.queues))
        try:
            paused = list(Queue.objects.using(self.plan.using).paused().values_list("name", flat=True))
            mine = jobs.running().filter(lease_owner=self.name)
            if ready.exclude(queue__in=paused).exists() or jobs.due().exists() or mine.exists():
                return False
        except (DatabaseError, InterfaceError):
            connections[self.plan.using].close()
            return False
        return not len(self.holdings)

    def _note_outage(self) -> None:
        self._last_outage = time.monotonic()

    def _die(self, reason: str) -> None:
        logger.critical("worker dies worker=%s reason=%s", self.name, reason)
        self._exit_code = EXIT_BROKEN
        self.stop(reason)

    def _give_up(self, held: Held) -> None:
        if held not in self._wedged:
            self._wedged.append(held)
            lease = held.lease
            logger.error(
                "handler ignores its timeout job=%s kind=%s: this process drains and exits",
                lease.job_id,
                held.claimed.kind,
            )
            self._exit_code = EXIT_WEDGED
            self.stop("a handler ignored its timeout")

    def _shut_down(self) -> int:
        grace = settings.grace_seconds if self.plan.grace is None else self.plan.grace
        self._stop.set()
        self._describe(draining_at=clock.now())
        self.scheduler.stop(timeout=1.0)
        self.janitor.stop(timeout=1.0)
        self.claimer.drain()
        self._wait_for_handlers(grace)
        self._tell_handlers_to_stop()
        self._wait_for_handlers(OBEY_SECONDS)
        self.claimer.stop()
        self._settle_the_rest()
        self._close()
        return self._exit_code

    def _wait_for_handlers(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._unfinished():
            time.sleep(LOOK_SECONDS)

    def _unfinished(self) -> list[Held]:
        return [held for held in self.holdings.snapshot() if not held.is_finished and held not in self._wedged]

    def _tell_handlers_to_stop(self) -> None:
        for held in self._unfinished():
            held.stop(WorkerStopping())

    def _settle_the_rest(self) -> None:
        """Hand back what still runs, and write down what ignored its timeout, as the last thing before the exit."""
        for held in self.holdings.snapshot():
            if not held.is_finished:
                self.settler.submit(held, self._last_word(held))
        until = time.monotonic() + max(OBEY_SECONDS, settings.lease_seconds / 2)
        while not self.settler.is_empty and time.monotonic() < until:
            self.settler.wake()
            time.sleep(LOOK_SECONDS)

    def _last_word(self, held: Held) -> Outcome:
        if held in self._wedged and held.context is not None:
            return Failed(failure=describe(held.context.stop_reason or TimeoutError()), timed_out=True)
        return Released(started=held.started is not None)

    def _close(self) -> None:
        self.executors.stop()
        self.settler.stop()
        self.heartbeat.stop()
        self._describe(stopped_at=clock.now(), running=0, refused=self.holdings.refused)
        signals.worker_stopped.send_robust(self.name, worker=self, reason=self._reason)
        self.all_threads_ended = self.executors.join(0.5)
        connections.close_all()


def leave(worker: Worker, code: int) -> None:
    """End the process: at once where a handler's thread would keep it alive."""
    if worker.all_threads_ended:
        sys.exit(code)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
