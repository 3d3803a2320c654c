"""Settling: what each outcome writes, on both paths; the fence; rows that others hold."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from jobs import clock, leases
from jobs.leases import Answer, Lease, Settlement
from jobs.leases.settlement import settle_by_orm, settle_by_statement
from jobs.models import Job, JobRun
from jobs.outcomes import (
    Discarded,
    Expired,
    Failed,
    Failure,
    Lost,
    Outcome,
    Released,
    Snoozed,
    Stopped,
    Succeeded,
    Unclaimable,
)
from jobs.states import State
from tests.jobs import noop
from tests.leasing import BROKEN, FACTS, claim, in_threads, settlement, silence

pytestmark = pytest.mark.django_db

HOPELESS = Failed(failure=Failure(exception_class="KeyError", message="no"), is_hopeless=True)
TIMED_OUT = Failed(failure=Failure(exception_class="TimedOut", message="slow"), timed_out=True)
STARTED_LOSS = Lost(started=True, worker="w1", last_heard="then", deaths=1, quarantine_losses=3, worker_is_alive=False)
QUARANTINE = Lost(started=True, worker="w1", last_heard="then", deaths=3, quarantine_losses=3, worker_is_alive=False)
STRANDED = Lost(started=False, worker="w1", last_heard="then", deaths=1, quarantine_losses=3, worker_is_alive=False)

# outcome: state, attempt left, outcome of the run (None: no run), final state if a cancel was requested
OUTCOMES: dict[str, tuple[Outcome, str, int, str | None, str]] = {
    "succeeded": (Succeeded('{"a":1}'), "succeeded", 1, "succeeded", "succeeded"),
    "succeeded without a result": (Succeeded(None), "succeeded", 1, "succeeded", "succeeded"),
    "failed": (BROKEN, "scheduled", 1, "failed", "cancelled"),
    "failed for good": (HOPELESS, "dead", 1, "failed", "dead"),
    "timed out": (TIMED_OUT, "scheduled", 1, "timed_out", "cancelled"),
    "snoozed": (Snoozed(60, "later"), "scheduled", 0, "snoozed", "cancelled"),
    "discarded": (Discarded("bad data"), "dead", 1, "discarded", "dead"),
    "stopped": (Stopped("asked"), "cancelled", 1, "cancelled", "cancelled"),
    "expired": (Expired(), "cancelled", 0, None, "cancelled"),
    "released": (Released(started=True), "pending", 0, "released", "cancelled"),
    "released for later": (Released(started=True, delay=5), "scheduled", 0, "released", "cancelled"),
    "handed back": (Released(started=False), "pending", 0, None, "cancelled"),
    "no handler": (Unclaimable(kind="x", given_up=False), "scheduled", 0, None, "cancelled"),
    "no handler for too long": (Unclaimable(kind="x", given_up=True), "dead", 0, None, "dead"),
    "lost": (STARTED_LOSS, "pending", 1, "lost", "cancelled"),
    "quarantined": (QUARANTINE, "dead", 1, "lost", "dead"),
    "stranded": (STRANDED, "pending", 0, None, "cancelled"),
}


@pytest.fixture(params=["statement", "orm"])
def settle(request: pytest.FixtureRequest) -> Any:
    if request.param == "statement" and connection.vendor != "postgresql":
        pytest.skip("the statement is PostgreSQL's")
    path = {"statement": settle_by_statement, "orm": settle_by_orm}[request.param]
    return lambda *settlements: path(settlements, using="default")


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_outcome_ends_the_lease_in_its_state_with_its_run(settle: Any, name: str) -> None:
    outcome, state, attempt, run, _ = OUTCOMES[name]
    job = noop.enqueue()
    (claimed,) = claim()

    answers = settle(settlement(claimed.lease, outcome))

    job.refresh_from_db()
    assert answers == {claimed.lease: Answer.DONE}
    assert (job.state, job.attempt, job.claim_no) == (state, attempt, 1)
    assert (job.lease_owner, job.lease_expires_at, job.cancel_requested_at) == ("", None, None)
    assert list(JobRun.objects.values_list("outcome", "worker", "attempt")) == ([(run, "w1", 1)] if run else [])


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_requested_cancel_wins_over_all_but_succeeded_and_dead(settle: Any, name: str) -> None:
    outcome, *_, state = OUTCOMES[name]
    job = noop.enqueue()
    (claimed,) = claim()
    Job.objects.update(cancel_requested_at=clock.now())

    settle(settlement(claimed.lease, outcome))

    job.refresh_from_db()
    assert (job.state, job.cancel_requested_at) == (state, None)
    assert (job.finished_at is not None) is job.State(state).is_final


def test_a_run_keeps_when_it_was_due(settle: Any) -> None:
    job = noop.enqueue()
    Job.objects.update(run_at=clock.in_seconds(-60))
    due_at = Job.objects.get().run_at
    (claimed,) = claim()

    settle(settlement(claimed.lease, BROKEN))

    job.refresh_from_db()
    assert JobRun.objects.get().due_at == due_at < job.run_at


@pytest.mark.parametrize("asked", [False, True], ids=["plain", "cancel requested"])
@pytest.mark.parametrize("name", OUTCOMES)
def test_both_paths_write_the_same_rows(name: str, asked: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    if connection.vendor != "postgresql":
        pytest.skip("there is one path only")
    outcome = OUTCOMES[name][0]
    noop.enqueue(), noop.enqueue()
    one, two = claim()
    if asked:
        Job.objects.update(cancel_requested_at=clock.now())
    Job.objects.update(progress={"done": 1}, log="a line", error="before")

    settle_by_statement([_long_ago(one.lease, outcome)], using="default")
    settle_by_orm([_long_ago(two.lease, outcome)], using="default")

    assert _row(Job, pk=one.job_id) == _row(Job, pk=two.job_id)
    assert _row(JobRun, job_id=one.job_id) == _row(JobRun, job_id=two.job_id)


def _long_ago(lease: Lease, outcome: Outcome) -> Settlement:
    """Settle with all times in thousands of seconds: the few between two settlements are nothing beside them."""
    one = settlement(lease, outcome, age=5_000, duration=2_000)
    delay = one.verdict.delay
    return replace(one, verdict=replace(one.verdict, delay=None if delay is None else 1_000 * delay))


def _row(model: Any, **key: Any) -> dict[str, Any]:
    """Return the row with its times as so many thousand seconds from now, since the two were written one after the other."""
    row = model.objects.filter(**key).values().first() or {}
    now = clock.read("default")
    for name in ("id", "job_id", "enqueued_at"):
        row.pop(name, None)
    return {
        name: round((value - now) / timedelta(seconds=1_000)) if name.endswith(("_at", "_since")) and value else value
        for name, value in row.items()
    }


def test_times_of_a_run_are_the_worker_s_and_not_the_batch_s(settle: Any) -> None:
    noop.enqueue()
    (claimed,) = claim()

    before = clock.read("default")
    settle(settlement(claimed.lease, age=5.0, duration=2.0))
    after = clock.read("default")

    run, job = JobRun.objects.get(), Job.objects.get()
    assert run.finished_at - run.started_at == timedelta(seconds=2)
    assert before <= run.finished_at + timedelta(seconds=5) <= after
    assert (job.started_at, job.finished_at) == (run.started_at, run.finished_at)


def test_result_error_and_log_are_kept(settle: Any) -> None:
    first, second = noop.enqueue(), noop.enqueue()
    claimed = claim()
    text = "ünï 🐟 \\ \" ' % {} \n"

    settle(
        settlement(claimed[0].lease, Succeeded(json.dumps({"t": text})), log=text),
        settlement(claimed[1].lease, Failed(failure=Failure(exception_class="E", message=text, traceback=text))),
    )

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.result, first.error) == ({"t": text}, "")
    assert second.error == "E: ünï 🐟 \\ \" ' % {}"
    logged, failed = JobRun.objects.order_by("job_id")
    assert (logged.log, failed.message, failed.traceback) == (text, text, text)


@pytest.mark.parametrize(("outcome", "kept"), [(Succeeded(None), True), (BROKEN, False), (Stopped("asked"), True)])
def test_the_last_progress_is_kept_where_the_job_ends(settle: Any, outcome: Outcome, kept: bool) -> None:  # noqa: FBT001
    noop.enqueue()
    (claimed,) = claim()
    progress = {"done": 2, "total": None, "message": "ü"}

    settle(settlement(claimed.lease, outcome, progress=progress))

    assert Job.objects.get().progress == (progress if kept else None)


def test_backoff_is_measured_from_the_database_s_now(settle: Any) -> None:
    noop.enqueue()
    (claimed,) = claim()

    before = clock.read("default")
    settle(settlement(claimed.lease, Failed(failure=Failure(exception_class="E", message=""), delay=100)))
    after = clock.read("default")

    assert before <= Job.objects.get().run_at - timedelta(seconds=100) <= after


def test_the_last_attempt_that_fails_is_dead(settle: Any) -> None:
    class Last(FACTS):
        attempt = 8

    noop.enqueue()
    (claimed,) = claim()

    settle(settlement(claimed.lease, BROKEN, facts=Last))

    assert Job.objects.get().state == State.DEAD


def test_a_second_settle_is_lost_and_changes_nothing(settle: Any) -> None:
    noop.enqueue()
    (claimed,) = claim()
    settle(settlement(claimed.lease))

    answers = settle(settlement(claimed.lease, BROKEN))

    assert answers == {claimed.lease: Answer.LOST}
    assert Job.objects.get().state == State.SUCCEEDED
    assert JobRun.objects.count() == 1


def test_a_late_worker_is_fenced_by_the_claim_number(settle: Any) -> None:
    noop.enqueue()
    (stale,) = claim("w1")
    silence(stale.lease)
    leases.rescue(using="default")
    (current,) = claim("w2") or leases.claim_suspect("w2", lease_seconds=30, using="default")

    answers = settle(settlement(stale.lease), settlement(current.lease, BROKEN))

    assert answers == {stale.lease: Answer.LOST, current.lease: Answer.DONE}
    assert Job.objects.get().state == State.SCHEDULED


def test_an_unknown_job_is_lost(settle: Any) -> None:
    assert settle(settlement(Lease(2**40, 1))) == {Lease(2**40, 1): Answer.LOST}


def test_a_row_that_others_hold_is_busy_and_the_rest_is_done(settle: Any, transactional_db: None) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    noop.enqueue(), noop.enqueue()
    held, free = claim()

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.job_id)
        (answers,) = in_threads(lambda: settle(settlement(held.lease), settlement(free.lease)))

    assert answers == {held.lease: Answer.BUSY, free.lease: Answer.DONE}
    assert settle(settlement(held.lease)) == {held.lease: Answer.DONE}


def test_release_hands_back_the_attempt() -> None:
    noop.enqueue()
    (claimed,) = claim()

    leases.release([claimed.lease], started=False, using="default")

    job = Job.objects.get()
    assert (job.state, job.attempt, job.claim_no, job.started_at) == (State.PENDING, 0, 1, None)


def test_is_settled_says_whether_the_run_of_this_claim_is_on_record() -> None:
    noop.enqueue()
    (claimed,) = claim()

    before = leases.is_settled(claimed.lease, using="default")
    leases.settle([settlement(claimed.lease)], using="default")

    assert (before, leases.is_settled(claimed.lease, using="default")) == (False, True)


def test_unknown_since_is_the_first_refusal(settle: Any) -> None:
    noop.enqueue()
    (claimed,) = claim()
    settle(settlement(claimed.lease, Unclaimable(kind="noop", given_up=False)))
    first = Job.objects.get().unknown_since
    Job.objects.update(state=State.PENDING)
    (again,) = claim()

    settle(settlement(again.lease, Unclaimable(kind="noop", given_up=False)))

    assert Job.objects.get().unknown_since == first
