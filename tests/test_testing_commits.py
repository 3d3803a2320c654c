"""run_jobs: callbacks and transactions of handlers, inside and outside the test's own transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from django.test import TestCase

from jobs import job
from jobs.models import Job, JobRun
from jobs.states import State
from jobs.testing import run_jobs
from tests.jobs import echo, fail, noop
from tests.registering import own_registry

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forget_handlers() -> Iterator[None]:
    with own_registry():
        yield


def state_of(one: Job) -> str:
    one.refresh_from_db()
    return one.state


def test_on_commit_callbacks_run_after_each_handler_and_only_its_own() -> None:
    said: list[str] = []

    @job("test")
    def speak(name: str) -> None:
        with transaction.atomic():
            transaction.on_commit(lambda: said.append(f"committed {name}"))
        said.append(f"returned {name}")

    transaction.on_commit(lambda: said.append("the test's own"))
    speak.enqueue("a")
    speak.enqueue("b")
    before = list(connection.run_on_commit)
    run_jobs()

    assert said == ["returned a", "committed a", "returned b", "committed b"]
    assert connection.run_on_commit == before


def test_callbacks_may_enqueue_and_register_more() -> None:
    said: list[str] = []

    @job("test")
    def start() -> None:
        transaction.on_commit(lambda: (echo.enqueue(1), transaction.on_commit(lambda: said.append("inner"))))

    start.enqueue()

    assert [ran.kind for ran in run_jobs()] == ["test", "echo"]
    assert said == ["inner"]


def test_callbacks_of_what_was_rolled_back_do_not_run() -> None:
    said: list[str] = []

    @job("test")
    def stumble() -> None:
        with transaction.atomic():
            transaction.on_commit(lambda: said.append("committed"))
        with transaction.atomic():
            transaction.on_commit(lambda: said.append("rolled back"))
            raise ValueError

    stumble.enqueue()
    run_jobs(raise_errors=False)

    assert said == ["committed"]


@pytest.mark.parametrize("atomic", [False, True], ids=["plain", "atomic"])
def test_a_callback_that_fails_raises(*, atomic: bool) -> None:
    @job("test", atomic=atomic)
    def hooked() -> None:
        transaction.on_commit(lambda: fail("hook"))

    hooking = hooked.enqueue()

    with pytest.raises(ValueError, match="hook"):
        run_jobs()
    # Before the run is over it is a failure of the handler; after an atomic one's COMMIT it changes nothing.
    assert state_of(hooking) == (State.SUCCEEDED if atomic else State.SCHEDULED)


def test_a_robust_callback_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @job("test")
    def hooked() -> None:
        transaction.on_commit(lambda: fail("hook"), robust=True)

    hooked.enqueue()
    with caplog.at_level(logging.ERROR, "jobs.testing"):
        runs = run_jobs()

    assert [ran.outcome for ran in runs] == ["succeeded"]
    assert "robust on_commit callback failed" in caplog.text


def test_a_database_error_in_a_handler_does_not_break_the_tests_transaction() -> None:
    @job("test", backoff=3600)
    def collide() -> None:
        Group.objects.create(name="taken")

    Group.objects.create(name="taken")
    collide.enqueue()
    (ran,) = run_jobs(raise_errors=False)

    assert (ran.outcome, type(ran.error)) == ("failed", IntegrityError)
    assert Group.objects.get().name == "taken"


def test_a_database_error_in_a_callback_does_not_break_it_either() -> None:
    @job("test", backoff=3600)
    def hooked() -> None:
        Group.objects.create(name="made by the job")
        transaction.on_commit(lambda: Group.objects.create(name="taken"))

    Group.objects.create(name="taken")
    hooked.enqueue()
    (ran,) = run_jobs(raise_errors=False)

    assert (ran.outcome, type(ran.error)) == ("failed", IntegrityError)
    assert Group.objects.count() == 2


def test_an_atomic_block_without_savepoint_that_fails_is_undone() -> None:
    @job("test")
    def broken() -> None:
        with transaction.atomic(savepoint=False):
            Group.objects.create(name="half")
            raise ValueError

    broken.enqueue()
    run_jobs(raise_errors=False)

    assert not Group.objects.exists()


def test_a_handler_may_open_a_durable_transaction() -> None:
    @job("test")
    def durable() -> None:
        with transaction.atomic(durable=True):
            Group.objects.create(name="kept")

    durable.enqueue()
    run_jobs()

    assert Group.objects.get().name == "kept"


def test_an_atomic_handler_keeps_its_work_and_settles() -> None:
    @job("test", atomic=True)
    def work() -> str:
        Group.objects.create(name="kept")
        return "fine"

    working = work.enqueue()
    with transaction.atomic():
        run_jobs()

    assert (state_of(working), working.result) == (State.SUCCEEDED, "fine")
    assert Group.objects.get().name == "kept"


def test_an_atomic_handler_that_fails_leaves_nothing_and_runs_no_callback() -> None:
    said: list[str] = []

    @job("test", atomic=True)
    def work() -> None:
        Group.objects.create(name="undone")
        transaction.on_commit(lambda: said.append("committed"))
        raise ValueError("no")

    working = work.enqueue()

    with pytest.raises(ValueError, match="no"):
        run_jobs()
    assert (state_of(working), said, Group.objects.exists()) == (State.SCHEDULED, [], False)


def test_an_atomic_handler_that_hides_a_database_error_fails() -> None:
    @job("test", atomic=True)
    def hide() -> None:
        try:
            with transaction.atomic(savepoint=False):
                Group.objects.create(name="taken")
        except IntegrityError:
            pass

    Group.objects.create(name="taken")
    hiding = hide.enqueue()

    with pytest.raises(transaction.TransactionManagementError):
        run_jobs()
    assert (state_of(hiding), JobRun.objects.get().outcome) == (State.SCHEDULED, "failed")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("atomic", [False, True], ids=["plain", "atomic"])
def test_run_jobs_works_outside_a_transaction(*, atomic: bool) -> None:
    said: list[str] = []

    @job("test", atomic=atomic)
    def work() -> None:
        with transaction.atomic():
            Group.objects.create(name="kept")
            transaction.on_commit(lambda: said.append("committed"))

    work.enqueue()

    assert [ran.outcome for ran in run_jobs()] == ["succeeded"]
    assert (said, connection.in_atomic_block, Group.objects.count()) == (["committed"], False, 1)


class PlainTestCaseTests(TestCase):
    """The kit where it is meant to be used."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.waiting = noop.enqueue()

    def test_jobs_of_the_test_data_run(self) -> None:
        assert [ran.job_id for ran in run_jobs()] == [self.waiting.pk]

    def test_they_are_back_for_the_next_test(self) -> None:
        assert state_of(self.waiting) == State.PENDING

    def test_callbacks_run_once_inside_capture_on_commit_callbacks(self) -> None:
        said: list[str] = []

        @job("test")
        def speak() -> None:
            transaction.on_commit(lambda: said.append("the job's"))

        speak.enqueue()
        with self.captureOnCommitCallbacks(execute=True):
            transaction.on_commit(lambda: said.append("the test's"))
            run_jobs()

        assert said == ["the job's", "the test's"]
