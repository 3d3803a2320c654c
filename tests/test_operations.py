"""What people do: conditional, counted, recorded."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from jobs import clock, operations
from jobs.exceptions import InvalidJob
from jobs.models import Job, JobEvent, Queue
from jobs.operations import Actor
from jobs.states import State
from tests.jobs import noop
from tests.leasing import BROKEN, claim, in_threads, settle

pytestmark = pytest.mark.django_db


def dead(key: str | None = None) -> Job:
    job = noop.using(max_attempts=1, unique_key=key).enqueue()
    (claimed,) = claim()

    class Last:
        attempt, max_attempts, backoff = 1, 1, None

    settle(claimed.lease, BROKEN, facts=Last)
    job.refresh_from_db()
    assert job.state == State.DEAD
    return job


def test_retry_gives_a_dead_job_a_fresh_budget_and_says_who_and_why() -> None:
    job = dead()
    actor = Actor(id="7", label="alice")

    moved = job.retry(actor=actor, reason="fixed")

    event = JobEvent.objects.get()
    assert moved
    assert (job.state, job.attempt, job.finished_at, job.claim_no) == (State.PENDING, 0, None, 1)
    assert (event.kind, event.job_id, event.actor_id, event.actor_label, event.reason) == (
        "retried",
        job.pk,
        "7",
        "alice",
        "fixed",
    )


def test_a_second_retry_moves_nothing_and_writes_no_event() -> None:
    job = dead()
    job.retry()

    assert not job.retry()
    assert JobEvent.objects.count() == 1


def test_bulk_retry_takes_dead_and_cancelled_and_counts_the_rest() -> None:
    dead(), dead()
    noop.enqueue().cancel()
    noop.enqueue()

    report = Job.objects.all().retry()

    assert (report.moved, report.skipped, report.blocked_by) == (3, 1, {})


def test_retry_takes_one_job_a_key_and_names_the_twin_of_the_others() -> None:
    older, newer = dead("k"), dead("k")
    free = dead()

    report = Job.objects.dead().retry()

    assert (report.moved, report.blocked_by) == (2, {older.pk: newer.pk})
    assert set(Job.objects.pending()) == {newer, free}


def test_retry_leaves_a_job_whose_key_a_live_one_holds() -> None:
    job = dead("k")
    twin = noop.using(unique_key="k").enqueue()

    report = Job.objects.dead().retry()

    assert (report.moved, report.skipped, report.blocked_by) == (0, 0, {job.pk: twin.pk})
    assert not job.retry()


def test_cancel_ends_waiting_jobs_at_once() -> None:
    waiting, future = noop.enqueue(), noop.using(delay=60).enqueue()

    report = Job.objects.all().cancel(reason="not needed")

    waiting.refresh_from_db(), future.refresh_from_db()
    assert (report.moved, report.asked) == (2, 0)
    assert {waiting.state, future.state} == {State.CANCELLED}
    assert {waiting.error, future.error} == {"not needed"}
    assert waiting.finished_at is not None


def test_cancel_asks_a_running_job_once() -> None:
    job = noop.enqueue()
    claim()

    first, second = job.cancel(), job.cancel()

    assert (first, second, job.state) == (True, False, State.RUNNING)
    assert job.cancel_requested_at is not None
    assert [event.kind for event in JobEvent.objects.all()] == ["cancel_requested"]


@pytest.mark.parametrize("state", ["succeeded", "dead"])
def test_cancel_leaves_finished_jobs(state: str) -> None:
    job = noop.enqueue()
    Job.objects.update(state=state, finished_at=clock.now())

    assert not job.cancel()


def test_trigger_runs_a_scheduled_job_now() -> None:
    job = noop.using(delay=3600).enqueue()

    moved = job.trigger(reason="impatient")

    assert (moved, job.state) == (True, State.PENDING)
    assert job.run_at <= clock.read("default")
    assert JobEvent.objects.get().kind == "triggered"


def test_trigger_leaves_what_is_not_scheduled() -> None:
    job = noop.enqueue()

    assert not job.trigger()


@pytest.mark.django_db(transaction=True)
def test_a_cancel_that_meets_a_claim_either_prevents_the_run_or_reaches_it() -> None:
    for _ in range(40):
        job = noop.enqueue()

        claimed, cancelled = in_threads(claim, lambda job=job: Job.objects.get(pk=job.pk).cancel())

        job.refresh_from_db()
        assert cancelled is True
        if claimed:
            assert (job.state, job.cancel_requested_at is not None) == (State.RUNNING, True)
            settle(claimed[0].lease)
        else:
            assert job.state == State.CANCELLED


@pytest.mark.django_db(transaction=True)
def test_a_row_that_others_hold_is_skipped_and_not_waited_for() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    held, free = noop.enqueue(), noop.enqueue()

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.pk)
        (report,) = in_threads(lambda: Job.objects.all().cancel())

    free.refresh_from_db()
    assert (report.moved, report.skipped, free.state) == (1, 1, State.CANCELLED)


@pytest.mark.django_db(transaction=True)
def test_a_retry_that_meets_an_enqueue_of_the_same_key_never_raises() -> None:
    for number in range(20):
        job = dead(f"key {number}")

        report, twin = in_threads(
            lambda job=job: Job.objects.filter(pk=job.pk).retry(),
            lambda number=number: noop.using(unique_key=f"key {number}").enqueue(),
        )

        assert isinstance(twin, Job)
        live = Job.objects.get(unique_key=f"key {number}", state=State.PENDING)
        assert report.moved == 1 if live.pk == job.pk else report.blocked_by == {job.pk: live.pk}
        live.cancel()


def test_bulk_operations_work_by_the_thousand() -> None:
    Job.objects.enqueue_many([noop.spec()] * 2_500)

    report = Job.objects.filter(kind="noop").cancel()

    assert report.moved == Job.objects.cancelled().count() == JobEvent.objects.count() == 2_500


def test_operations_take_sliced_querysets() -> None:
    for _ in range(5):
        noop.enqueue()

    report = operations.cancel(Job.objects.order_by("pk")[:2])

    assert report.moved == 2


def test_pause_and_resume_are_recorded() -> None:
    until = clock.read("default") + timedelta(hours=1)
    alice = User.objects.create(username="alice")

    queue = operations.pause("mail", actor=Actor.of(alice), reason="upgrade", resume_at=until)
    resumed, again = operations.resume("mail"), operations.resume("mail")

    assert (queue.paused_by, queue.pause_reason, queue.resume_at) == ("alice", "upgrade", until)
    assert (resumed, again) == (True, False)
    assert Queue.objects.get().paused_at is None
    assert [event.kind for event in JobEvent.objects.order_by("id")] == ["paused", "resumed"]


@pytest.mark.parametrize(
    ("queue", "more"), [("a,b", {}), ("", {}), ("mail", {"resume_at": datetime.fromisoformat("2030-01-01")})]
)
def test_pause_refuses_what_it_cannot_store(queue: str, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidJob, match=r"queue=|resume_at="):
        operations.pause(queue, **more)

    assert not Queue.objects.exists()
