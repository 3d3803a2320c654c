"""Emptying a full table: one worker process with four slots, every run recorded, all settings at their defaults."""

from __future__ import annotations

from collections.abc import Iterator

from . import workers
from .database import Database
from .figures import DRAIN, DRAIN_IN_TRANSACTION, DRAIN_WITH_BACKLOG, Sample
from .scale import Scale
from .workers import Burst

# From the start of the first handler to the end of the last, by the database's clock.
SPAN = "SELECT EXTRACT(EPOCH FROM MAX(finished_at) - MIN(started_at))::float FROM jobs_jobrun WHERE worker <> 'seed'"
RECORDED = "SELECT COUNT(*) FROM jobs_jobrun WHERE outcome = 'succeeded' AND worker <> 'seed'"


def measure(scale: Scale, database: Database) -> Iterator[Sample]:
    """Drain jobs that do nothing, jobs with one SELECT, and the first beside a large backlog and a long transaction."""
    database.empty()
    start = workers.burst()
    yield Sample("process without a job: CPU", start.cpu_seconds, "s")
    yield from _drain(DRAIN, scale.drained, database, start, kind="bench.noop")
    yield from _drain("drain of jobs with a SELECT", scale.drained, database, start, kind="bench.select")
    yield from _drain(DRAIN_WITH_BACKLOG, scale.drained, database, start, kind="bench.noop", backlog=scale.backlog)
    yield from _drain(DRAIN_IN_TRANSACTION, scale.drained, database, start, kind="bench.noop", seen=scale.seen)


def _drain(
    name: str, jobs: int, database: Database, start: Burst, *, kind: str, backlog: int = 0, seen: int = 0
) -> Iterator[Sample]:
    database.empty()
    database.pile_up(backlog)
    with database.open_since(seen):
        database.fill(jobs, kind=kind)
        used = workers.burst()
    recorded = database.ask(RECORDED)
    if recorded != jobs:
        raise RuntimeError(f"{name}: {recorded} of {jobs} jobs have a run that succeeded.")
    yield Sample(name, jobs / database.ask(SPAN), "jobs/s")
    yield Sample(f"{name}: process", used.wall_seconds, "s")
    yield Sample(f"{name}: CPU", (used.cpu_seconds - start.cpu_seconds) / jobs * 1e6, "µs/job")
