"""Several worker processes on one database: what each more of them brings, and what the death of one costs."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from jobs import operations
from jobs.models import Job

from . import workers
from .database import Database
from .drain import RECORDED, SPAN
from .figures import Sample
from .jobs import wait
from .scale import Scale

SIZES = (1, 2, 4, 8)
KILLED_FROM = 4
# Short, so that many deaths fit into a round: what comes on top of the lease is the same with any.
SHORT_LEASE = {"LEASE_SECONDS": 3, "HEARTBEAT_SECONDS": 1, "GRACE_SECONDS": 0}
QUEUE = "default"
PATIENCE_SECONDS = 300.0

UNFINISHED = "SELECT COUNT(*) FROM jobs_job WHERE finished_at IS NULL"
NOW = "SELECT EXTRACT(EPOCH FROM STATEMENT_TIMESTAMP())::float"
RUNNING_PID = "SELECT pid FROM jobs_worker JOIN jobs_job ON lease_owner = name"
LEASE_END = "SELECT EXTRACT(EPOCH FROM lease_expires_at)::float FROM jobs_job WHERE claim_no = 1"
RUNS_AGAIN = "SELECT EXTRACT(EPOCH FROM started_at)::float FROM jobs_job WHERE claim_no = 2"


def measure(scale: Scale, database: Database) -> Iterator[Sample]:
    """Drain with 1, 2, 4 and 8 processes; kill the one that runs a job; drain while one is killed every second."""
    for size in SIZES:
        yield from _drain(size, scale.shared, database)
    for _ in range(scale.deaths):
        yield from _recover(database)
    yield from _drain_under_fire(scale.shared, database)


def _drain(size: int, jobs: int, database: Database) -> Iterator[Sample]:
    database.empty()
    with workers.fleet(database, size):
        _let_go(jobs, database)
        _wait_for(database, UNFINISHED, found=0)
    yield Sample(f"drain, processes: {size}", _rate(jobs, database), "jobs/s")


def _recover(database: Database) -> Iterator[Sample]:
    database.empty()
    with workers.fleet(database, 2, jobs=SHORT_LEASE) as processes:
        Job.objects.enqueue(wait, {"seconds": 60})
        pid = _wait_for(database, RUNNING_PID)
        # After the first renewal, at any moment before the next.
        time.sleep(SHORT_LEASE["HEARTBEAT_SECONDS"] * random.uniform(1, 2))
        killed_at = _kill(next(one for one in processes if one.pid == pid), database)
        lease_end = database.ask(LEASE_END)
        again_at = _wait_for(database, RUNS_AGAIN)
    yield Sample(f"kill -9 to next run, lease {SHORT_LEASE['LEASE_SECONDS']} s", again_at - killed_at, "s")
    yield Sample("end of lease to next run", (again_at - lease_end) * 1000, "ms")


def _drain_under_fire(jobs: int, database: Database) -> Iterator[Sample]:
    database.empty()
    with workers.fleet(database, KILLED_FROM, jobs=SHORT_LEASE) as processes:
        _let_go(jobs, database)
        for turn in itertools.count():
            time.sleep(1)
            if not database.ask(UNFINISHED):
                break
            _kill(processes[turn % KILLED_FROM], database)
            processes[turn % KILLED_FROM] = workers.start(jobs=SHORT_LEASE)
    yield Sample(f"drain, {KILLED_FROM}, one killed a second", _rate(jobs, database), "jobs/s")
    yield Sample(f"drain, {KILLED_FROM}, one killed a second: deaths", turn, "processes")


def _let_go(jobs: int, database: Database) -> None:
    """Fill the table while nobody may claim, so that all processes begin together."""
    operations.pause(QUEUE)
    # Each looks for pauses once in a poll.
    time.sleep(1)
    database.fill(jobs, kind="bench.noop")
    operations.resume(QUEUE)


def _rate(jobs: int, database: Database) -> float:
    recorded = database.ask(RECORDED)
    if recorded != jobs:
        raise RuntimeError(f"fleet: {recorded} of {jobs} jobs have a run that succeeded.")
    return float(jobs / database.ask(SPAN))


def _kill(process: subprocess.Popen[bytes], database: Database) -> float:
    process.send_signal(signal.SIGKILL)
    process.wait()
    return float(database.ask(NOW))


def _wait_for(database: Database, statement: str, *, found: Any = None) -> Any:
    """Return what ``statement`` finds, once it finds anything, or ``found``."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        answer = database.ask(statement)
        if answer == found if found is not None else answer is not None:
            return answer
        # All that is measured has its time in the rows, so there is no hurry.
        time.sleep(0.25)
    raise RuntimeError(f"fleet: nothing came of {statement!r} in {PATIENCE_SECONDS:g} s.")
