"""What people do: conditional, counted, recorded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction

from jobs import JobSpec, clock, operations
from jobs import job as job_decorator
from jobs.exceptions import InvalidJob
from jobs.models import Job, JobEvent, Queue
from jobs.operations import Actor, batches
from jobs.states import State
from jobs.testing import age
from tests.jobs import noop
from tests.leasing import BROKEN, claim, in_threads, settle
from tests.registering import own_registry

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


def test_discard_takes_dead_jobs_out_and_keeps_what_they_died_of() -> None:
    job = dead()
    age(job, 60)
    died_at = job.finished_at

    report = Job.objects.all().discard(actor=Actor("7", "alice"), reason="hopeless")

    job.refresh_from_db()
    assert (report.moved, job.state, job.error) == (1, State.CANCELLED, "ValueError: boo")
    assert job.finished_at is not None
    assert died_at is not None
    assert job.finished_at > died_at
    assert [(event.kind, event.reason) for event in JobEvent.objects.all()] == [("discarded", "hopeless")]
    assert not job.discard()


def test_postpone_makes_waiting_jobs_wait_until_then() -> None:
    until = clock.read("default") + timedelta(hours=1)
    pending, scheduled, backing_off = noop.enqueue(), noop.using(delay=60).enqueue(), noop.enqueue()
    Job.objects.filter(pk=backing_off.pk).update(state="scheduled", attempt=2)
    running = noop.using(queue="busy").enqueue()
    claim(queues=["busy"])

    report = Job.objects.all().postpone(run_at=until, reason="not yet")

    assert (report.moved, report.skipped) == (3, 1)
    for job in (pending, scheduled, backing_off):
        job.refresh_from_db()
        assert (job.state, job.run_at) == (State.SCHEDULED, until)
    assert backing_off.attempt == 2
    event = JobEvent.objects.get(job=scheduled)
    assert (event.kind, event.reason) == ("postponed", "not yet")
    assert event.changes["run_at"][1] == until.isoformat()
    assert not running.postpone(run_at=until)


def test_postpone_leaves_what_would_expire_before() -> None:
    now = clock.read("default")
    job = noop.using(expires_at=now + timedelta(hours=1)).enqueue()

    assert not job.postpone(run_at=now + timedelta(hours=2))
    assert job.postpone(run_at=now + timedelta(minutes=30))


def test_reroute_changes_queue_and_priority_and_says_from_what_to_what() -> None:
    job, other = noop.enqueue(), noop.using(queue="bulk", priority=5).enqueue()

    report = Job.objects.all().reroute(queue="bulk", priority=5)

    job.refresh_from_db()
    assert (report.moved, report.skipped) == (1, 1)
    assert (job.queue, job.priority) == ("bulk", 5)
    assert JobEvent.objects.get().changes == {"queue": ["default", "bulk"], "priority": [0, 5]}
    assert other.reroute(priority=6)
    assert JobEvent.objects.get(job=other).changes == {"priority": [5, 6]}


@pytest.mark.parametrize(
    "change", [{}, {"queue": "a,b"}, {"priority": 101}], ids=["nothing", "no queue", "no priority"]
)
def test_reroute_refuses_what_it_cannot_store(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidJob, match=r"reroute\(\)|queue=|priority="):
        noop.enqueue().reroute(**change)


def test_postpone_refuses_what_is_no_time() -> None:
    with pytest.raises(InvalidJob, match="no time zone"):
        noop.enqueue().postpone(run_at=datetime.fromisoformat("2030-01-01"))


class Clerk:
    """A user who has one permission."""

    pk = 7

    def __init__(self, permission: str = "") -> None:
        self.permission = permission

    def get_username(self) -> str:
        return "clerk"

    def has_perm(self, permission: str) -> bool:
        return permission == self.permission


CLERK, CASHIER = Actor.of(Clerk()), Actor.of(Clerk("billing.refund"))


@pytest.fixture
def refund() -> Iterator[Any]:
    """A kind that not everybody may start."""
    with own_registry():
        yield job_decorator("refund", permission="billing.refund", aliases=["repay"])(lambda *args: None)


@pytest.mark.parametrize("operation", ["retry", "trigger"])
def test_a_kind_with_a_permission_is_started_by_whoever_has_it(refund: Any, operation: str) -> None:
    def make(handler: Any) -> Job:
        job = handler.using(delay=60).enqueue()
        if operation == "retry":
            job.cancel()
        return job  # type: ignore[no-any-return]

    make(refund), make(noop)
    Job.objects.filter(pk=make(refund).pk).update(kind="repay")

    clerks = getattr(Job.objects.all(), operation)(actor=CLERK)
    cashiers = getattr(Job.objects.all(), operation)(actor=CASHIER)

    assert (clerks.moved, clerks.forbidden, clerks.skipped) == (1, 2, 0)
    assert (cashiers.moved, cashiers.forbidden, cashiers.skipped) == (2, 0, 1)


def test_a_kind_with_a_permission_is_brought_forward_by_whoever_has_it_and_put_off_by_anybody(refund: Any) -> None:
    job, now = refund.using(delay=3_600).enqueue(), clock.read("default")

    earlier = Job.objects.all().postpone(run_at=now + timedelta(seconds=1), actor=CLERK)
    later = Job.objects.all().postpone(run_at=now + timedelta(hours=2), actor=CLERK)
    cashiers = Job.objects.all().postpone(run_at=now + timedelta(seconds=1), actor=CASHIER)

    assert (earlier.moved, earlier.forbidden, later.moved, cashiers.moved) == (0, 1, 1, 1)
    job.refresh_from_db()
    assert job.run_at == now + timedelta(seconds=1)


def test_a_kind_with_a_permission_is_enqueued_by_whoever_has_it(refund: Any) -> None:
    with pytest.raises(PermissionDenied, match=r"billing\.refund"):
        operations.enqueue(JobSpec("repay"), actor=CLERK)

    job = operations.enqueue(JobSpec("refund", queue="mail"), actor=CASHIER, reason="a complaint")

    event = JobEvent.objects.get()
    assert (job.kind, job.queue, job.created) == ("refund", "mail", True)
    assert (event.kind, event.job_id, event.actor_label, event.reason) == ("enqueued", job.pk, "clerk", "a complaint")


def test_code_and_the_command_line_start_any_kind(refund: Any) -> None:
    assert operations.enqueue(refund.spec()).created
    assert operations.enqueue(refund.spec(), actor=Actor(label="root (command line)")).created


def test_an_enqueue_that_meets_a_live_twin_writes_no_event() -> None:
    live = noop.using(unique_key="k").enqueue()

    job = operations.enqueue(JobSpec("noop", unique_key="k"))

    assert (job.pk, job.created) == (live.pk, False)
    assert not JobEvent.objects.exists()


def test_a_copy_is_like_its_original_and_both_know() -> None:
    original = noop.using(queue="mail", priority=3, unique_key="k", metadata={"by": "ada"}).enqueue(1, two=2)
    original.cancel()

    copy = operations.copy(original, payload={"two": 3}, priority=4, reason="wrong number")

    stored = Job.objects.get(pk=copy.pk)
    assert stored.copied_from_id == original.pk
    assert (stored.kind, stored.args, stored.payload) == ("noop", [1], {"two": 3})
    assert (stored.queue, stored.priority, stored.unique_key, stored.metadata) == ("mail", 4, "k", {"by": "ada"})
    assert (stored.backoff, stored.max_attempts) == (original.backoff, original.max_attempts)
    assert JobEvent.objects.get(job=copy).kind == "enqueued"
    assert JobEvent.objects.get(job=original, kind="copied").changes == {"copy": [None, copy.pk]}


def test_a_copy_whose_key_is_taken_is_none() -> None:
    original = noop.using(unique_key="k").enqueue()
    original.cancel()
    live = noop.using(unique_key="k").enqueue()

    copy = operations.copy(original)

    assert (copy.pk, copy.created, copy.copied_from_id) == (live.pk, False, None)
    assert not JobEvent.objects.filter(kind="copied").exists()


def test_what_may_still_run_is_not_copied() -> None:
    job = noop.enqueue()

    with pytest.raises(InvalidJob, match="only a job that has ended can be copied"):
        operations.copy(job)


@pytest.mark.django_db(transaction=True)
def test_a_cancel_that_meets_a_claim_either_prevents_the_run_or_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # A claim holds the row for a moment, and on a busy machine for longer than a cancel usually tries.
    monkeypatch.setattr(batches, "TURNS", 20)
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
