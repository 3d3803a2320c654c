"""One worker process, from its start to its exit code."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, InterfaceError, connections

from .. import maintenance, signals
from ..conf import settings
from ..wakeups import CANCEL, DRAIN, READY, Wakeup
from .claimer import Claimer
from .execution import tell
from .executor import Executors
from .exits import EXIT_BROKEN, EXIT_DRAINED, EXIT_OK, EXIT_RELOAD, EXIT_SPENT, EXIT_WEDGED
from .heartbeat import Heartbeat
from .holdings import Held, Holdings
from .janitor import Janitor
from .listener import Listener
from .logs import log_of
from .own_connection import use_own_connection
from .pace import Pace
from .plan import Plan
from .record import Record
from .reloading import CodeWatch
from .scheduler import Scheduler
from .settler import Settler
from .shutdown import wind_down
from .stopping import Stopping
from .syncing import sync_schedules
from .ticker import Ticker
from .watch import Watch

logger = log_of(__name__)

LOOK_SECONDS = 0.1
BURST_LOOK_SECONDS = 0.02


class Worker:
    """
    Puts the threads together, waits, and takes them apart in the right order.

    ``run`` returns one of the codes in ``exits``. ``on_ready`` is called once
    the worker's row is written, ``on_wait`` again and again while the database
    is away before that.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        on_ready: Callable[[], object] = lambda: None,
        on_wait: Callable[[], object] = lambda: None,
    ) -> None:
        self.plan = plan
        self._on_ready = on_ready
        self._on_wait = on_wait
        self.holdings = Holdings()
        self.record = Record(plan)
        self.wedged: list[Held] = []
        self.all_threads_ended = True
        self.stopping = Stopping(self.name)
        self._spent_code = EXIT_OK
        self._last_outage = -1e9
        self._started = time.monotonic()
        self._build()

    def _build(self) -> None:
        common: dict[str, Any] = {
            "using": self.plan.using,
            "on_outage": self._note_outage,
            "on_death": lambda reason: self.stopping.fail(EXIT_BROKEN, reason),
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
            self.holdings, worker=self.name, on_drain=self._drained, on_missing=self.record.insert, **common
        )
        self.watch = Watch(
            self.holdings, worker=self.name, on_wedged=self._give_up, on_freeze=self._note_outage, **common
        )
        self.janitor = Janitor(
            last_outage=self._find_last_outage,
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
        always = [self.settler, self.watch, self.heartbeat, self.claimer, self.scheduler, self.janitor]
        can_listen = settings.notify and connections[self.plan.using].vendor == "postgresql"
        return [*always, self.listener] if can_listen else always

    def run(self) -> int:
        """Work until asked to stop, or in a burst until nothing is due; return the exit code."""
        use_own_connection(self.plan.using)
        if not self.record.create(lambda: self.stopping.has_begun, on_wait=self._wait):
            return self.stopping.code
        if self.plan.sync:
            sync_schedules(self.plan.using)
        connections.close_all()
        self._on_ready()
        tell(signals.worker_started, self.name, worker=self)
        for ticker in self._tickers:
            ticker.start()
        self.executors.start()
        code_watch = CodeWatch(lambda path: self.stopping.fail(EXIT_RELOAD, f"{path} has changed"))
        if self.plan.reload:
            code_watch.start()
        while not self.stopping.has_begun:
            self._look()
            # Not an Event's wait: a signal handler that meets its lock would wait for itself.
            time.sleep(BURST_LOOK_SECONDS if self.plan.burst else LOOK_SECONDS)
        code_watch.stop()
        wind_down(self)
        tell(signals.worker_stopped, self.name, worker=self, reason=self.stopping.reason)
        connections.close_all()
        return self.stopping.code

    def stop(self, reason: str = "asked to stop") -> None:
        """Begin to shut down: from any thread."""
        self.stopping.begin(reason)

    def handle_signals(self, *, supervised: bool = False) -> None:
        """Stop on SIGTERM, SIGINT and SIGHUP; see ``Stopping``. Call it in the main thread."""
        self._spent_code = EXIT_SPENT if supervised else EXIT_OK
        self.stopping.handle_signals(supervised=supervised)

    def _look(self) -> None:
        dead = [ticker.name for ticker in self._tickers if not ticker.is_alive]
        if dead or not self.executors.are_alive:
            self.stopping.fail(EXIT_BROKEN, f"{', '.join(dead) or 'a slot'} has ended by itself")
        if self.plan.burst and self._is_drained():
            self.stop("nothing is due any more")
        spent = self.plan.spent(begun=self.holdings.begun, age=time.monotonic() - self._started)
        if spent:
            self.stopping.recycle(self._spent_code, spent)

    def _is_drained(self) -> bool:
        """Whether nothing is due that this worker could run, and nothing is under way in it."""
        # First of all: a job that is claimed from here on may have failed already
        # by the end of the look, and be due since after that began.
        begun = self.holdings.begun
        # Slots that are due become jobs first.
        if len(self.holdings) or not self.scheduler.is_idle:
            return False
        try:
            has_work = maintenance.has_work(self.name, self.plan.queues, using=self.plan.using)
            return not has_work and not len(self.holdings) and self.holdings.begun == begun
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

    def _find_last_outage(self) -> float:
        # After a freeze the janitor may be the first to wake.
        self.watch.notice_a_freeze()
        return self._last_outage

    def _wait(self) -> None:
        # Those who were at work when the database went away may be about to renew.
        self._note_outage()
        self._on_wait()

    def _drained(self) -> None:
        self.stopping.recycle(EXIT_DRAINED, "drained by a person")

    def _give_up(self, held: Held) -> None:
        if held not in self.wedged:
            self.wedged.append(held)
            logger.error("handler ignores its timeout job=%s kind=%s", held.lease.job_id, held.claimed.kind)
            self.stopping.fail(EXIT_WEDGED, "a handler ignored its timeout")
