"""Shorthand for tests that hold leases by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

from jobs import leases
from jobs.leases import Claimed, Lease, Settlement
from jobs.models import Job, Worker
from jobs.outcomes import Failed, Failure, Outcome, Succeeded, decide
from jobs.retry import Backoff

OK = Succeeded(None)
BROKEN = Failed(failure=Failure(exception_class="ValueError", message="boo", traceback="Traceback: boo"))


class FACTS:
    attempt = 1
    max_attempts = 8
    backoff = Backoff()


def claim(worker: str = "w1", *, slots: int = 100, ahead: int = 0, **options: Any) -> list[Claimed]:
    """Claim and return everything given, those for a slot first."""
    now, later = leases.claim(worker, slots=slots, ahead=ahead, lease_seconds=30, using="default", **options)
    return now + later


def settlement(lease: Lease, outcome: Outcome = OK, *, facts: Any = FACTS, **more: Any) -> Settlement:
    return Settlement(lease=lease, verdict=decide(outcome, facts, chance=0.5), **more)


def settle(lease: Lease, outcome: Outcome = OK, **more: Any) -> str:
    """Settle one lease and return the answer."""
    return leases.settle([settlement(lease, outcome, **more)], using="default")[lease]


def make_worker(name: str = "w1", **values: Any) -> Worker:
    from jobs import clock

    usual = {"version": "1", "concurrency": 4, "started_at": clock.now(), "heartbeat_at": clock.now()}
    return Worker.objects.create(name=name, hostname="host", pid=1, **(usual | values))


def silence(*lease_list: Lease) -> None:
    """Make these leases expire a minute ago."""
    from jobs import clock

    Job.objects.filter(pk__in=[lease.job_id for lease in lease_list]).update(lease_expires_at=clock.in_seconds(-60))


@contextmanager
def elsewhere(statement: str, *params: Any) -> Iterator[Callable[..., None]]:
    """Keep a transaction that has done ``statement``, and what the block has it do, open on a connection of its own."""
    other: Any = connections.create_connection("default")
    other.ensure_connection()
    other.set_autocommit(False)

    def execute(statement: str, *params: Any) -> None:
        with other.cursor() as cursor:
            cursor.execute(statement, params)

    try:
        execute(statement, *params)
        yield execute
    finally:
        other.rollback()
        other.close()


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    """Call each in a thread with a database connection of its own, all starting together; return what they return."""
    barrier = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def body(index: int, work: Callable[[], Any]) -> None:
        try:
            barrier.wait(10)
            results[index] = work()
        except Exception as error:  # noqa: BLE001 (handed to the test, which looks at it)
            results[index] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=body, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results
