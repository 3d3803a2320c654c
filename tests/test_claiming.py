"""Claims: order, limits, what is left alone, and that two never get one job."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import F

from jobs import leases
from jobs.models import Job
from jobs.states import State
from tests.jobs import noop
from tests.leasing import claim, in_threads

pytestmark = pytest.mark.django_db


def test_claim_gives_a_running_job_with_a_lease_an_attempt_and_a_claim_number() -> None:
    job = noop.enqueue(1, b=2)

    (claimed,) = claim("w1")

    job.refresh_from_db()
    assert (claimed.job_id, claimed.claim_no, claimed.attempt) == (job.pk, 1, 1)
    assert (claimed.args, claimed.payload) == ([1], {"b": 2})
    assert (job.state, job.lease_owner, job.claim_no, job.attempt) == (State.RUNNING, "w1", 1, 1)
    assert job.started_at is not None
    assert job.lease_expires_at - job.started_at == pytest.approx(timedelta(seconds=30), abs=timedelta(seconds=1))


def test_claim_takes_higher_priority_first_and_equal_ones_in_order_of_enqueue() -> None:
    low = [noop.using(priority=-10).enqueue() for _ in range(2)]
    usual = [noop.enqueue() for _ in range(3)]
    high = noop.using(priority=10).enqueue()

    claimed = [one.job_id for one in claim()]

    assert claimed == [high.pk, *(job.pk for job in usual), *(job.pk for job in low)]


def test_claim_of_no_slots_gives_nothing() -> None:
    noop.enqueue()

    assert claim(slots=0) == []
    assert Job.objects.pending().count() == 1


def test_claim_leaves_scheduled_jobs() -> None:
    noop.using(delay=60).enqueue()

    assert claim() == []


def test_jobs_claimed_ahead_have_no_start() -> None:
    for _ in range(3):
        noop.enqueue()

    now, later = leases.claim("w1", slots=1, ahead=5, lease_seconds=30, using="default")

    assert (len(now), len(later)) == (1, 2)
    started = dict(Job.objects.values_list("pk", "started_at"))
    assert started[now[0].job_id] is not None
    assert {started[one.job_id] for one in later} == {None}


def test_a_stranded_job_is_never_claimed_ahead() -> None:
    plain, stranded = noop.enqueue(), noop.enqueue()
    Job.objects.filter(pk=stranded.pk).update(stranded=1)

    now, later = leases.claim("w1", slots=1, ahead=5, lease_seconds=30, using="default")
    again, _ = leases.claim("w1", slots=1, ahead=5, lease_seconds=30, using="default")

    assert [one.job_id for one in now + later] == [plain.pk]
    assert [one.job_id for one in again] == [stranded.pk]


def test_a_job_with_losses_is_only_given_by_claim_suspect_and_alone() -> None:
    suspects = [noop.enqueue() for _ in range(2)]
    Job.objects.update(losses=1)

    ordinary = claim()
    alone = leases.claim_suspect("w1", lease_seconds=30, using="default")

    assert ordinary == []
    assert [one.job_id for one in alone] == [suspects[0].pk]


def test_claim_from_listed_queues_is_in_strict_order() -> None:
    bulk = noop.using(queue="bulk", priority=100).enqueue()
    mail = noop.using(queue="mail").enqueue()
    noop.using(queue="other").enqueue()

    claimed = claim(queues=["mail", "bulk"])

    assert [one.job_id for one in claimed] == [mail.pk, bulk.pk]


def test_claim_leaves_paused_queues_and_keeps_priority_across_the_others() -> None:
    noop.using(queue="paused", priority=100).enqueue()
    first = noop.using(queue="a", priority=5).enqueue()
    second = noop.using(queue="b", priority=3).enqueue()
    third = noop.using(queue="a", priority=1).enqueue()

    claimed = claim(paused={"paused"})

    assert [one.job_id for one in claimed] == [first.pk, second.pk, third.pk]
    assert claim(paused={"paused"}) == []


def test_beside_a_paused_queue_the_oldest_job_of_all_others_comes_first() -> None:
    waiting = [noop.using(queue=queue).enqueue().pk for queue in ("b", "a", "b", "c", "a")]

    claimed = [claim(slots=1, paused={"paused"}) for _ in waiting]

    assert [one.job_id for (one,) in claimed] == waiting


def test_claim_of_listed_queues_leaves_a_paused_one() -> None:
    noop.using(queue="mail").enqueue()

    assert claim(queues=["mail"], paused={"mail"}) == []


def test_claim_cancels_a_job_past_its_expiry() -> None:
    job = noop.enqueue()
    Job.objects.update(expires_at=F("run_at") - timedelta(seconds=1))

    assert claim() == []

    job.refresh_from_db()
    assert (job.state, job.error) == (State.CANCELLED, "Expired before it could start.")
    assert job.attempt == 0


def test_stray_leases_are_those_the_worker_does_not_know() -> None:
    known, stray = noop.enqueue(), noop.enqueue()
    claimed = {one.job_id: one.lease for one in claim("w1")}

    strays = leases.stray_leases("w1", {claimed[known.pk]}, using="default")

    assert strays == [claimed[stray.pk]]


@pytest.mark.django_db(transaction=True)
def test_no_job_is_claimed_twice_by_workers_that_claim_at_once() -> None:
    noop_ids = {noop.enqueue().pk for _ in range(200)}

    def work(name: str) -> list[int]:
        taken: list[int] = []
        while batch := claim(name, slots=7):
            taken += [one.job_id for one in batch]
        return taken

    first, second, third = in_threads(lambda: work("a"), lambda: work("b"), lambda: work("c"))

    assert sorted(first + second + third) == sorted(noop_ids)


@pytest.mark.django_db(transaction=True)
def test_claim_skips_a_row_that_somebody_holds() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    held, free = noop.enqueue(), noop.enqueue()

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.pk)
        (claimed,) = in_threads(claim)

    assert [one.job_id for one in claimed] == [free.pk]
