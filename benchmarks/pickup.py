"""How long a job waits that an idle worker could run at once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

from jobs.models import Job

from . import workers
from .database import Database
from .figures import Sample
from .jobs import noop
from .scale import Scale

# Both moments are by the database's clock: that of the INSERT, and that at which the handler was called.
WAITS = """
SELECT ARRAY_AGG(EXTRACT(EPOCH FROM run.started_at - job.enqueued_at)::float * 1000)
  FROM jobs_jobrun AS run JOIN jobs_job AS job ON job.id = run.job_id
"""
UNFINISHED = "SELECT COUNT(*) FROM jobs_job WHERE finished_at IS NULL"
PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 60.0


def measure(scale: Scale, database: Database) -> Iterator[Sample]:
    """Enqueue one job at a time, at random moments, to a worker that has nothing else."""
    database.empty()
    with workers.idle_worker(database):
        for _ in range(scale.pickups):
            # Evenly over the time between two polls, or the first to come after a poll would be counted too often.
            time.sleep(random.uniform(0, PAUSE_SECONDS))
            Job.objects.enqueue(noop)
            _wait_until_finished(database)
    waits = sorted(database.ask(WAITS))
    for percent in (50, 95, 99):
        yield Sample(f"pickup, p{percent}", _percentile(waits, percent), "ms")
    yield Sample("pickup, worst", waits[-1], "ms")


def _percentile(ordered: Sequence[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def _wait_until_finished(database: Database) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while database.ask(UNFINISHED):
        if time.monotonic() > until:
            raise RuntimeError(f"An idle worker left a job alone for {PATIENCE_SECONDS:g} s.")
        time.sleep(0.01)
