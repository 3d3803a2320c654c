"""The duties any worker does for all: in small batches, past rows that others hold."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test import override_settings

from jobs import clock, maintenance
from jobs.models import CronJob, Job, JobEvent, JobRun, Queue, Worker
from jobs.states import State
from tests.jobs import noop
from tests.leasing import claim, in_threads, make_worker, settle
from tests.scheduling import make, tick

pytestmark = pytest.mark.django_db


def promote(limit: int = 100) -> int:
    return maintenance.promote(limit=limit, using="default")


def make_due(*jobs: Job) -> None:
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(run_at=clock.in_seconds(-1))


def finished(state: str, *, days: float) -> Job:
    job = noop.enqueue()
    at = clock.in_seconds(-days * 86_400)
    Job.objects.filter(pk=job.pk).update(state=state, finished_at=at)
    JobRun.objects.create(job=job, attempt=1, claim_no=1, worker="w", outcome="succeeded", due_at=at, finished_at=at)
    return job


def test_promote_makes_due_jobs_pending_earliest_first() -> None:
    early, late, future = (noop.using(delay=60).enqueue() for _ in range(3))
    make_due(late)
    Job.objects.filter(pk=early.pk).update(run_at=clock.in_seconds(-60))

    first, second, third = promote(1), promote(1), promote(1)

    assert (first, second, third) == (1, 1, 0)
    assert set(Job.objects.pending().values_list("pk", flat=True)) == {early.pk, late.pk}
    assert Job.objects.get(pk=future.pk).state == State.SCHEDULED


def test_promote_skips_a_row_that_others_hold(transactional_db: None) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    held, free = (noop.using(delay=60).enqueue() for _ in range(2))
    make_due(held, free)

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.pk)
        (promoted,) = in_threads(promote)

    assert promoted == 1
    assert promote() == 1


def test_several_promoters_promote_each_job_once(transactional_db: None) -> None:
    make_due(*(noop.using(delay=60).enqueue() for _ in range(60)))

    counts = in_threads(*[lambda: sum(iter(lambda: promote(7), 0))] * 3)

    assert sum(counts) + promote() == 60


@pytest.mark.parametrize("state", [State.SCHEDULED, State.PENDING])
def test_expire_cancels_what_did_not_start_in_time(state: str) -> None:
    job = noop.using(delay=60 if state == State.SCHEDULED else 0).enqueue()
    Job.objects.update(expires_at=clock.in_seconds(-1))

    count = maintenance.expire(using="default")

    job.refresh_from_db()
    assert (count, job.state, job.error) == (1, State.CANCELLED, "Expired before it could start.")


def test_expire_leaves_running_and_later_ones() -> None:
    noop.enqueue()
    claim()
    Job.objects.update(expires_at=clock.in_seconds(-1))
    noop.using(expires_at=clock.read("default") + timedelta(hours=1)).enqueue()

    assert maintenance.expire(using="default") == 0


def test_the_survey_sees_what_there_is_to_do() -> None:
    nothing = maintenance.survey(using="default")
    noop.enqueue()
    noop.using(delay=3_600).enqueue()

    something = maintenance.survey(using="default")

    assert nothing == maintenance.Survey(
        pending=False,
        suspects=False,
        expired_leases=False,
        next_run_in=None,
        next_slot_in=None,
        waiting_slots=False,
        paused=frozenset(),
    )
    assert (something.pending, something.suspects, something.expired_leases) == (True, False, False)
    assert 3_000 < something.next_run_in < 4_000


def test_a_worker_whose_row_was_deleted_is_not_told_that_there_is_no_work() -> None:
    """Its heartbeat writes it anew; a burst that took the word would end with jobs left."""
    noop.enqueue()

    assert maintenance.has_work("w1", (), using="default")


def test_the_survey_sees_schedules() -> None:
    schedule = make()
    to_plan = maintenance.survey(using="default")
    tick()
    CronJob.objects.update(next_run_at=clock.in_seconds(3_600), waiting_for=clock.now())
    make(enabled=False)

    planned = maintenance.survey(using="default")

    assert schedule.next_run_at is None
    assert (to_plan.next_slot_in, to_plan.waiting_slots) == (0, False)
    assert 3_000 < planned.next_slot_in < 4_000
    assert planned.waiting_slots


def test_the_survey_sees_which_queues_are_paused_now() -> None:
    Queue.objects.create(name="open")
    Queue.objects.create(name="resumed", paused_at=clock.now(), resume_at=clock.in_seconds(-1))
    Queue.objects.create(name="mail", paused_at=clock.now(), resume_at=clock.in_seconds(60))
    Queue.objects.create(name="bulk 100%", paused_at=clock.now())

    assert maintenance.survey(using="default").paused == {"mail", "bulk 100%"}
    assert {queue.name for queue in Queue.objects.paused()} == {"mail", "bulk 100%"}


def test_the_survey_sees_suspects_and_expired_leases() -> None:
    noop.enqueue(), noop.enqueue()
    claim(slots=1)
    Job.objects.running().update(lease_expires_at=clock.in_seconds(-1))
    Job.objects.pending().update(losses=1)

    seen = maintenance.survey(using="default")

    assert (seen.pending, seen.suspects, seen.expired_leases) == (False, True, True)


def test_a_queue_resumes_when_its_time_has_come() -> None:
    Queue.objects.create(name="mail", paused_at=clock.now(), resume_at=clock.in_seconds(-1))
    Queue.objects.create(name="bulk", paused_at=clock.now(), resume_at=clock.in_seconds(60))
    Queue.objects.create(name="slow", paused_at=clock.now())

    resumed = maintenance.resume_queues(using="default")

    assert resumed == ["mail"]
    assert set(Queue.objects.paused().values_list("name", flat=True)) == {"bulk", "slow"}
    assert list(JobEvent.objects.values_list("kind", "queue")) == [("resumed", "mail")]


@override_settings(JOBS={"RETENTION": {"succeeded": 86_400, "dead": None, "runs": None}})
def test_prune_deletes_old_jobs_with_their_history_and_leaves_the_rest() -> None:
    old, new = finished("succeeded", days=2), finished("succeeded", days=0.5)
    kept_for_ever = finished("dead", days=1000)
    JobEvent.objects.create(at=clock.now(), kind="retried", job=old)
    waiting = noop.enqueue()

    batches = list(maintenance.prune(using="default"))

    assert batches == [("succeeded", 1)]
    assert set(Job.objects.values_list("pk", flat=True)) == {new.pk, kept_for_ever.pk, waiting.pk}
    assert set(JobRun.objects.values_list("job_id", flat=True)) == {new.pk, kept_for_ever.pk}
    assert not JobEvent.objects.exists()


def test_prune_works_in_batches_of_the_limit() -> None:
    for _ in range(5):
        finished("cancelled", days=30)

    batches = list(maintenance.prune(limit=2, using="default"))

    assert batches == [("cancelled", 2), ("cancelled", 2), ("cancelled", 1)]


def test_prune_leaves_a_job_that_others_hold(transactional_db: None) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    held, _ = finished("succeeded", days=30), finished("succeeded", days=30)

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.pk)
        (batches,) = in_threads(lambda: list(maintenance.prune(using="default")))

    assert batches == [("succeeded", 1)]
    assert list(Job.objects.values_list("pk", flat=True)) == [held.pk]


def test_prune_deletes_old_runs_events_and_workers() -> None:
    job = noop.enqueue()
    at = clock.in_seconds(-100 * 86_400)
    JobRun.objects.create(job=job, attempt=1, claim_no=1, worker="w", outcome="failed", due_at=at, finished_at=at)
    JobEvent.objects.create(at=clock.in_seconds(-100 * 86_400), kind="retried", job=job)
    make_worker("old", heartbeat_at=clock.in_seconds(-2 * 86_400))
    make_worker("new")

    batches = dict(maintenance.prune(using="default"))

    assert batches == {"runs": 1, "events": 1, "workers": 1}
    assert Worker.objects.get().name == "new"
    assert Job.objects.get() == job


def test_prunable_counts_what_prune_would_delete() -> None:
    finished("succeeded", days=30)

    counts = maintenance.prunable(using="default")

    assert counts == {"succeeded": 1, "cancelled": 0, "dead": 0, "runs": 0, "events": 0, "workers": 0}


def test_a_settled_job_is_pruned_by_the_time_it_finished() -> None:
    noop.enqueue()
    (claimed,) = claim()
    settle(claimed.lease)
    Job.objects.update(finished_at=F("finished_at") - timedelta(days=8))

    assert dict(maintenance.prune(using="default")) == {"succeeded": 1}
