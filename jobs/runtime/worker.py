"""One worker process, from its start to its exit code."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.db import DatabaseError, InterfaceError, connections

from .. import maintenance, signals
from ..conf import settings
from ..wakeups import CANCEL, DRAIN, READY, Wakeup
from .claimer import Claimer
from .execution import tell
from .executor import Executors
from .exits import EXIT_BROKEN, EXIT_DRAINED, EXIT_OK, EXIT_RELOAD, EXIT_WEDGED
from .heartbeat import Heartbeat
from .holdings import Held, Holdings
from .janitor import Janitor
from .listener import Listener
from .own_connection import use_own_connection
from .pace import Pace
from .plan import Plan
from .record import Record
from .reloading import CodeWatch
from .scheduler import Scheduler
from .settler import Settler
from .shutdown import wind_down
from .syncing import sync_schedules
from .ticker import Ticker

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
BURST_LOOK_SECONDS = 0.02


class Worker:
    """
    Puts the threads together, waits, and takes them apart in the right order.

    ``run`` returns one of the codes in ``exits``. ``on_ready`` is called once
    the worker's row is written.
    """

    def __init__(self, plan: Plan, *, on_ready: Callable[[], object] = lambda: None) -> None:
        self.plan = plan
        self._on_ready = on_ready
        self.holdings = Holdings()
        self.record = Record(plan)
        self.wedged: list[Held] = []
        self.all_threads_ended = True
        self._stop = threading.Event()
        self._signal = 0
        self._is_supervised = False
        self._reason = "finished"
        self._exit_code = EXIT_OK
        self._last_outage = -1e9
        self._started = time.monotonic()
        self._build()

    def _build(self) -> None:
        common: dict[str, Any] = {
            "using": self.plan.using,
            "on_outage": self._note_outage,
            "on_death": lambda reason: self._end(EXIT_BROKEN, reason),
        }
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
            self.holdings, self.executors, self.settler, pace, worker=self.name, plan=self.plan, **common
        )
        self.heartbeat = Heartbeat(
            self.holdings, worker=self.name, on_wedged=self._give_up, on_drain=self._drained, **common
        )
        self.janitor = Janitor(
            last_outage=lambda: self._last_outage,
            on_rescue=lambda: self.scheduler.wake(),
            queues_met=lambda: self.claimer.queues_met,
            **common,
        )
        self.scheduler = Scheduler(self.claimer, on_expired_lease=self.janitor.wake, **common)
        self.listener = Listener(hear=self._hear, on_listening=self._look_around, **common)

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def _tickers(self) -> list[Ticker]:
        always = [self.settler, self.heartbeat, self.claimer, self.scheduler, self.janitor]
        can_listen = settings.notify and connections[self.plan.using].vendor == "postgresql"
        return [*always, self.listener] if can_listen else always

    def run(self) -> int:
        """Work until asked to stop, or in a burst until nothing is due; return the exit code."""
        use_own_connection(self.plan.using)
        if not self.record.create(self._is_stopping):
            return self._exit_code
        if self.plan.sync:
            sync_schedules(self.plan.using)
        connections.close_all()
        self._on_ready()
        tell(signals.worker_started, self.name, worker=self)
        for ticker in self._tickers:
            ticker.start()
        self.executors.start()
        watch = CodeWatch(lambda path: self._end(EXIT_RELOAD, f"{path} has changed"))
        if self.plan.reload:
            watch.start()
        while not self._is_stopping():
            self._look()
            # Not an Event's wait: a signal handler that meets its lock would wait for itself.
            time.sleep(BURST_LOOK_SECONDS if self.plan.burst else LOOK_SECONDS)
        watch.stop()
        wind_down(self)
        tell(signals.worker_stopped, self.name, worker=self, reason=self._reason)
        connections.close_all()
        return self._exit_code

    def stop(self, reason: str = "asked to stop") -> None:
        """Begin to shut down: from a signal handler, another thread, or a ticker that failed."""
        if not self._stop.is_set():
            self._reason = reason
            self._stop.set()

    def handle_signals(self, *, supervised: bool = False) -> None:
        """
        Stop on the first SIGTERM or SIGINT; exit at once on the second. Call it in the main thread.

        A ``supervised`` process only stops: it gets the signal that its
        supervisor passes on, and may get the same one from systemd too.
        """
        self._is_supervised = supervised
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if (self._signal or self._stop.is_set()) and not self._is_supervised:
            os._exit(128 + number)
        self._signal = number

    def _is_stopping(self) -> bool:
        if self._signal:
            self.stop(signal.Signals(self._signal).name)
        return self._stop.is_set()

    def _look(self) -> None:
        dead = [ticker.name for ticker in self._tickers if not ticker.is_alive]
        if dead or not self.executors.are_alive:
            self._end(EXIT_BROKEN, f"{', '.join(dead) or 'a slot'} has ended by itself")
        if self.plan.burst and self._is_drained():
            self.stop("nothing is due any more")
        spent = self.plan.spent(begun=self.holdings.begun, age=time.monotonic() - self._started)
        if spent:
            self.stop(spent)

    def _is_drained(self) -> bool:
        """Whether nothing is due that this worker could run, and nothing is under way in it."""
        if len(self.holdings):
            return False
        try:
            return not maintenance.has_work(self.name, self.plan.queues, using=self.plan.using) and not len(
                self.holdings
            )
        except (DatabaseError, InterfaceError):
            connections[self.plan.using].close()
            return False

    def _hear(self, wakeup: Wakeup) -> None:
        """Act on a notification; what it does not say, the next poll finds."""
        if wakeup.what in (CANCEL, DRAIN):
            if wakeup.whom == self.name:
                self.heartbeat.beat_now()
        elif wakeup.what == READY and self._serves(wakeup.whom):
            self.claimer.note_ready()
        else:
            self.scheduler.wake()

    def _look_around(self) -> None:
        """Find what was announced while nobody listened."""
        self.scheduler.wake()
        self.heartbeat.beat_now()

    def _serves(self, queue: str) -> bool:
        return not queue or not self.plan.queues or queue in self.plan.queues

    def _note_outage(self) -> None:
        self._last_outage = time.monotonic()
        self.executors.distrust_connections()

    def _drained(self) -> None:
        self._end(EXIT_DRAINED, "drained by a person")

    def _give_up(self, held: Held) -> None:
        if held not in self.wedged:
            self.wedged.append(held)
            logger.error("handler ignores its timeout job=%s kind=%s", held.lease.job_id, held.claimed.kind)
            self._end(EXIT_WEDGED, "a handler ignored its timeout")

    def _end(self, code: int, reason: str) -> None:
        if not self._stop.is_set():
            self._exit_code = code
            logger.warning("worker ends worker=%s code=%s reason=%s", self.name, code, reason)
        self.stop(reason)


def leave(worker: Worker, code: int) -> None:
    """End the process: at once where a handler's thread would keep it alive."""
    if worker.all_threads_ended:
        sys.exit(code)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
