"""Putting jobs in: what a web request pays for one, and an import for very many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from jobs import JobSpec, clock
from jobs.models import Job

from .database import Database
from .figures import Sample
from .jobs import welcome
from .scale import Scale

PAYLOAD = {"user_id": 7, "template": "v1"}


def measure(scale: Scale, database: Database) -> Iterator[Sample]:
    """Enqueue one by one in autocommit, and in bulk; beside each, what the bare ORM does for the same rows."""
    Job.objects.enqueue(welcome, PAYLOAD)
    yield from _timed("enqueue", scale.single, database, lambda count: _each(count, _enqueue))
    columns = _columns()
    yield from _timed(
        "bare ORM create", scale.single, database, lambda count: _each(count, lambda: Job.objects.create(**columns))
    )
    yield from _timed("enqueue_many", scale.bulk, database, _enqueue_many)
    yield from _timed("bare ORM bulk_create", scale.bulk, database, lambda count: _bulk_create(count, columns))


def _timed(name: str, count: int, database: Database, work: Callable[[int], None]) -> Iterator[Sample]:
    database.empty()
    began, used = time.monotonic(), time.process_time()
    work(count)
    yield Sample(name, count / (time.monotonic() - began), "jobs/s")
    yield Sample(f"{name}: CPU", (time.process_time() - used) / count * 1e6, "µs/job")


def _each(count: int, one: Callable[[], object]) -> None:
    for _ in range(count):
        one()


def _enqueue() -> None:
    Job.objects.enqueue("bench.welcome", PAYLOAD)


def _enqueue_many(count: int) -> None:
    Job.objects.enqueue_many(JobSpec("bench.welcome", {"user_id": number, "template": "v1"}) for number in range(count))


def _bulk_create(count: int, columns: dict[str, Any]) -> None:
    Job.objects.bulk_create(Job(**columns) for _ in range(count))


def _columns() -> dict[str, Any]:
    moment = clock.read("default")
    return {
        "kind": "bench.welcome",
        "payload": PAYLOAD,
        "run_at": moment,
        "enqueued_at": moment,
        "max_attempts": 8,
        "backoff_base": 2.0,
        "backoff_cap": 300.0,
        "backoff_jitter": 0.3,
    }
