"""How a worker ends: nothing new, a grace for what runs, a word to the handlers, and the last settlements."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .. import clock
from ..conf import settings
from ..exceptions import WorkerStopping
from ..outcomes import Failed, Outcome, Released
from .execution import describe
from .holdings import Held

if TYPE_CHECKING:
    from .worker import Worker

OBEY_SECONDS = 5.0
# A handler that nothing stops ends with the process, a moment after its job is given up.
NO_RUN_BEFORE_SECONDS = 5.0
LOOK_SECONDS = 0.02
# Sooner than after other outages, and not so often that a fleet's tries keep the database from coming back.
OFFER_SECONDS = 0.5


def longest_end() -> float:
    """Return how many seconds a worker may take to end once its grace is over."""
    return OBEY_SECONDS + _settle_patience() + 10.0


def wind_down(worker: Worker) -> None:
    """
    Take the worker apart in the order that loses nothing.

    Nothing new starts, and what is claimed ahead goes back at once. Running
    handlers get the grace, if there is a hurry, and all their time if not; then they are told to stop and get a few seconds more; what still runs is
    handed back, and what ignored its timeout is written down, as the last
    thing before the exit. Neither may start again until the process is gone,
    so that a second run cannot overlap the first.
    """
    worker.holdings.close()
    worker.claimer.drain()
    worker.record.update(draining_at=clock.now())
    _let_finish(worker)
    for ticker in (worker.scheduler, worker.janitor, worker.listener):
        ticker.stop(timeout=1.0)
    grace = settings.grace_seconds if worker.plan.grace is None else worker.plan.grace
    _wait_for_handlers(worker, grace)
    for held in _unfinished(worker):
        held.stop(WorkerStopping())
    _wait_for_handlers(worker, OBEY_SECONDS)
    worker.claimer.stop(timeout=2.0)
    _settle_the_rest(worker)
    worker.executors.stop()
    worker.settler.stop(timeout=2.0)
    worker.heartbeat.stop(timeout=2.0)
    worker.watch.stop(timeout=1.0)
    worker.record.update(stopped_at=clock.now(), running=0, refused=worker.holdings.refused)
    worker.all_threads_ended = worker.executors.join(0.5)


def _unfinished(worker: Worker) -> list[Held]:
    return [held for held in worker.holdings.snapshot() if not held.is_finished and held not in worker.wedged]


def _let_finish(worker: Worker) -> None:
    """Wait for what runs for as long as nobody is in a hurry: a job longer than the grace would else never end."""
    while not worker.stopping.is_hurried and _unfinished(worker):
        time.sleep(LOOK_SECONDS)


def _wait_for_handlers(worker: Worker, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and _unfinished(worker):
        time.sleep(LOOK_SECONDS)


def _settle_the_rest(worker: Worker) -> None:
    for held in worker.holdings.snapshot():
        if not held.is_finished:
            worker.settler.submit(held, _last_word(worker, held))
    until = time.monotonic() + _settle_patience()
    # What is held is unanswered: an outcome between two queues would escape any count of those.
    next_offer = 0.0
    while len(worker.holdings) and time.monotonic() < until:
        if time.monotonic() >= next_offer:
            worker.settler.wake()
            next_offer = time.monotonic() + OFFER_SECONDS
        time.sleep(LOOK_SECONDS)


def _settle_patience() -> float:
    return float(max(OBEY_SECONDS, settings.lease_seconds / 2))


def _last_word(worker: Worker, held: Held) -> Outcome:
    if held.context is None:
        return Released(started=False)
    if held in worker.wedged:
        failure = describe(held.context.stop_reason or TimeoutError())
        return Failed(failure=failure, timed_out=True, least_delay=NO_RUN_BEFORE_SECONDS)
    return Released(started=True, delay=NO_RUN_BEFORE_SECONDS)
