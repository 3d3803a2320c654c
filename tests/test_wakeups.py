"""NOTIFY and LISTEN: sent after the commit, never in a caller's way, and only ever a hint (PostgreSQL)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.test import override_settings

from jobs import operations
from jobs.models import Job, JobRun, Worker
from jobs.states import State
from jobs.wakeups import Wakeup
from tests.jobs import echo, noop, wait
from tests.leasing import claim, in_threads
from tests.pooler import direct_url, needs_a_session
from tests.working import running, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("sqlite" in connection.settings_dict["ENGINE"], reason="SQLite has no NOTIFY"),
]

# Polls that would not come within the test: what happens, a notification did.
DEAF = {"POLL_SECONDS": 3600, "LEASE_SECONDS": 300, "HEARTBEAT_SECONDS": 100}


class Ear:
    """A connection that listens, to the server itself though the suite may run through a pooler."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(direct_url(url), autocommit=True)
        self.connection.execute("LISTEN jobs")

    def heard(self) -> list[str]:
        """Return what came until now: a marker sent last says that all before it has come."""
        with connection.cursor() as cursor:
            cursor.execute("NOTIFY jobs, 'marker'")
        payloads: list[str] = []
        for notify in self.connection.notifies(timeout=10):
            if notify.payload == "marker":
                return payloads
            payloads.append(notify.payload)
        raise AssertionError("the marker did not come")


@pytest.fixture
def ear(database_url: str) -> Iterator[Ear]:
    one = Ear(database_url)
    yield one
    one.connection.close()


def test_an_enqueue_in_autocommit_notifies_with_its_queue(ear: Ear) -> None:
    noop.using(queue="mail").enqueue()

    assert ear.heard() == ["ready mail"]


def test_a_transaction_of_many_enqueues_notifies_once_after_its_commit(ear: Ear) -> None:
    with transaction.atomic():
        for _ in range(50):
            noop.enqueue()
        before = in_threads(ear.heard)

    assert before == [[]]
    assert ear.heard() == ["ready default"]


def test_a_transaction_rolled_back_notifies_nobody(ear: Ear) -> None:
    with transaction.atomic():
        noop.enqueue()
        transaction.set_rollback(True)

    assert ear.heard() == []


def test_a_savepoint_rolled_back_takes_no_wakeup_of_others_with_it(ear: Ear) -> None:
    with transaction.atomic():
        with transaction.atomic():
            noop.enqueue()
            transaction.set_rollback(True)
        noop.enqueue()

    assert ear.heard() == ["ready default"]


def test_a_wakeup_inside_a_savepoint_is_not_merged_with_one_outside(ear: Ear) -> None:
    with transaction.atomic():
        noop.enqueue()
        with transaction.atomic():
            noop.enqueue()

    assert set(ear.heard()) == {"ready default"}


def test_enqueue_many_notifies_once_a_queue(ear: Ear) -> None:
    Job.objects.enqueue_many([noop.spec(), noop.spec(), noop.using(queue="mail", delay=1).spec()])

    assert sorted(ear.heard()) == ["ready default", "ready mail", "soon"]


@pytest.mark.parametrize("operation", ["retry", "trigger"])
def test_what_a_person_makes_pending_notifies(ear: Ear, operation: str) -> None:
    job = noop.using(delay=60).enqueue()
    if operation == "retry":
        job.cancel()
    ear.heard()

    getattr(job, operation)()

    assert ear.heard() == ["ready"]


def test_a_cancel_of_running_jobs_notifies_their_workers(ear: Ear) -> None:
    noop.enqueue(), noop.enqueue(), noop.enqueue()
    claim("w1", slots=2), claim("w2", slots=1)
    ear.heard()

    Job.objects.all().cancel()

    assert sorted(ear.heard()) == ["cancel w1", "cancel w2"]


def test_notify_can_be_switched_off(ear: Ear) -> None:
    with override_settings(JOBS={"NOTIFY": False}):
        noop.enqueue()

    assert ear.heard() == []


@needs_a_session
def test_a_notify_that_fails_reaches_no_caller(caplog: pytest.LogCaptureFixture) -> None:
    def cut_the_connection() -> None:
        pid = connection.connection.info.backend_pid
        in_threads(lambda: _terminate("pid = %s", pid))

    with transaction.atomic():
        transaction.on_commit(cut_the_connection)
        noop.enqueue()

    connection.close()
    assert Job.objects.count() == 1
    assert "Error calling" in caplog.text


def _terminate(condition: str, *params: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND {condition}",
            params,
        )
        return int(cursor.fetchone()[0])


@needs_a_session
@override_settings(JOBS=DEAF)
def test_an_idle_worker_hears_of_a_new_job() -> None:
    with running() as one:
        wait_until(lambda: one.worker.claimer._dry)
        echo.enqueue(1)
        wait_until(lambda: Job.objects.succeeded().count() == 1)


@needs_a_session
@override_settings(JOBS=DEAF)
def test_a_scheduler_hears_of_a_job_due_before_its_next_poll() -> None:
    with running() as one:
        wait_until(lambda: one.worker.claimer._dry)
        echo.using(delay=0.3).enqueue(1)
        wait_until(lambda: Job.objects.succeeded().count() == 1)


@needs_a_session
@override_settings(JOBS=DEAF)
def test_a_cancel_is_heard_long_before_the_next_heartbeat() -> None:
    job = wait.enqueue(3600)

    with running():
        wait_until(lambda: Job.objects.get().state == State.RUNNING)
        job.cancel()
        wait_until(lambda: Job.objects.get().state == State.CANCELLED)


@needs_a_session
@override_settings(JOBS=DEAF)
def test_a_drain_is_heard_long_before_the_next_heartbeat() -> None:
    with running() as one:
        wait_until(lambda: Worker.objects.exists())
        operations.drain(one.worker.name)
        one.thread.join(20)

    assert one.code == 76


@needs_a_session
@override_settings(JOBS=DEAF)
def test_a_listener_that_is_cut_off_listens_again_and_looks_once() -> None:
    with running() as one:
        wait_until(lambda: one.worker.claimer._dry)
        wait_until(lambda: _terminate("query = 'LISTEN jobs'"))
        echo.enqueue("while deaf or not")
        wait_until(lambda: Job.objects.succeeded().count() == 1)
        wait_until(lambda: one.worker.claimer._dry)
        echo.enqueue("heard again")
        wait_until(lambda: Job.objects.succeeded().count() == 2)


@override_settings(JOBS=DEAF | {"NOTIFY": False, "POLL_SECONDS": 0.05})
def test_everything_is_right_without_notify() -> None:
    with running():
        echo.enqueue(1), echo.using(delay=0.2).enqueue(2)
        wait_until(lambda: Job.objects.succeeded().count() == 2)

    assert JobRun.objects.count() == 2


@pytest.mark.parametrize("wakeup", [Wakeup("soon"), Wakeup("ready", "a queue"), Wakeup("cancel", "h:1:ab")])
def test_a_wakeup_survives_its_payload(wakeup: Wakeup) -> None:
    assert Wakeup.parse(str(wakeup)) == wakeup
