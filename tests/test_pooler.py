"""Workers behind PgBouncer, which hands one session of the server to many in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection, connections

from jobs.models import Job
from tests import pooler
from tests.jobs import noop
from tests.pooler import direct_url
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "sqlite" in connection.settings_dict["ENGINE"] or pooler.PROGRAM is None,
        reason="needs PostgreSQL and Debian's package pgbouncer",
    ),
]

# A poll would not come within the test.
HEARING = {"POLL_SECONDS": 3600, "LEASE_SECONDS": 300, "HEARTBEAT_SECONDS": 100}
SAID = "notifications do not come through"


@pytest.fixture
def pooled(database_url: str) -> Iterator[Callable[[str], str]]:
    """Start a pooler in some mode, and return the URL of the test database through it."""
    with ExitStack() as stack:
        yield lambda mode: stack.enter_context(pooler.running(direct_url(database_url), mode=mode))


def listening(url: str) -> int:
    """Count the listening ones among the sessions that a pooler in transaction mode has at hand."""
    with ExitStack() as stack:
        sessions = [stack.enter_context(psycopg.connect(url)) for _ in range(20)]
        return sum(one.execute("SELECT count(*) FROM pg_listening_channels()").fetchone()[0] for one in sessions)


def test_behind_a_transaction_pooler_a_worker_polls_and_leaves_nothing_in_shared_sessions(
    pooled: Callable[[str], str],
) -> None:
    url = pooled("transaction")

    with WorkerProcess(url) as worker:
        wait_until(lambda: worker.heard(SAID))
        Job.objects.enqueue_many([noop.using(delay=number % 2).spec() for number in range(200)])
        wait_until(lambda: Job.objects.succeeded().count() == 200)
        left, output = listening(url), worker.output()

    assert left == 0
    assert output.count(SAID) == 1


def test_behind_a_session_pooler_a_worker_hears(pooled: Callable[[str], str]) -> None:
    with WorkerProcess(pooled("session"), settings=HEARING) as worker:
        worker.wait_until_live()
        for number in range(1, 4):
            noop.enqueue()
            wait_until(lambda number=number: Job.objects.succeeded().count() == number)


def test_a_worker_beside_the_pooler_hears_what_is_enqueued_through_it(
    database_url: str, pooled: Callable[[str], str]
) -> None:
    with WorkerProcess(direct_url(database_url), settings=HEARING) as worker, through(pooled("transaction")):
        worker.wait_until_live()
        for number in range(1, 4):
            noop.enqueue()
            wait_until(lambda number=number: Job.objects.succeeded().count() == number)


@contextmanager
def through(url: str) -> Iterator[None]:
    """Have this process use the database at ``url`` for the block."""
    usual, other = connections["default"], connection.copy()
    other.settings_dict |= {"HOST": urlsplit(url).hostname, "PORT": urlsplit(url).port}
    connections["default"] = other
    try:
        yield
    finally:
        connections["default"] = usual
        other.close()
