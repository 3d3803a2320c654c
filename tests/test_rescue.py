"""Taking jobs from silent workers: whose fault it was, and what it costs the job."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction

from jobs import clock, leases
from jobs.leases import Beat
from jobs.models import Job, JobEvent, JobRun, Worker
from jobs.states import State
from tests.jobs import noop
from tests.leasing import claim, in_threads, make_worker, silence

pytestmark = pytest.mark.django_db


def rescue() -> list[leases.Rescued]:
    return leases.rescue(using="default")


def die(worker: str) -> None:
    """Claim the one job, alone if it is a suspect, and fall silent for good."""
    make_worker(worker, heartbeat_at=clock.in_seconds(-3600))
    claimed = claim(worker) or leases.claim_suspect(worker, lease_seconds=30, using="default")
    silence(claimed[0].lease)
    rescue()


def test_a_live_lease_is_left_alone() -> None:
    noop.enqueue()
    claim()

    assert rescue() == []


def test_a_started_job_of_a_dead_worker_is_pending_again_with_the_attempt_spent() -> None:
    noop.enqueue()
    make_worker("w1", heartbeat_at=clock.in_seconds(-3600))
    (claimed,) = claim("w1")
    silence(claimed.lease)

    (rescued,) = rescue()

    job, run = Job.objects.get(), JobRun.objects.get()
    assert (rescued.lease, rescued.worker) == (claimed.lease, "w1")
    assert (job.state, job.attempt, job.losses) == (State.PENDING, 1, 1)
    assert (run.outcome, run.worker, run.claim_no) == ("lost", "w1", 1)
    assert "Worker w1 lost the lease; it has not been heard of since" in run.message


def test_an_unstarted_job_loses_nothing_and_writes_no_run() -> None:
    noop.enqueue()
    (claimed,) = claim(slots=0, ahead=1)
    silence(claimed.lease)

    rescue()

    job = Job.objects.get()
    assert (job.state, job.attempt, job.losses, job.stranded) == (State.PENDING, 0, 0, 1)
    assert JobRun.objects.count() == 0


def test_on_the_last_attempt_it_is_dead_and_says_so() -> None:
    noop.using(max_attempts=1).enqueue()

    die("w1")

    job = Job.objects.get()
    assert (job.state, job.error) == (State.DEAD, "Lease expired on the last attempt (w1).")


def test_three_dead_workers_quarantine_a_job_with_attempts_left() -> None:
    job = noop.enqueue()

    for worker in ("w1", "w2", "w3"):
        die(worker)

    job.refresh_from_db()
    assert (job.state, job.attempt, job.losses) == (State.DEAD, 3, 3)
    assert job.error == "Quarantined: 3 workers died while running it, the last one w3."
    assert JobEvent.objects.get().kind == JobEvent.Kind.QUARANTINED


def test_a_worker_heard_of_later_does_not_count_as_dead() -> None:
    job = noop.enqueue()
    die("w1")
    die("w2")
    Worker.objects.filter(name="w1").update(heartbeat_at=clock.in_seconds(1))

    die("w3")

    job.refresh_from_db()
    assert (job.state, job.losses) == (State.PENDING, 2)


def test_a_worker_that_still_beats_is_not_a_loss() -> None:
    noop.enqueue()
    make_worker("w1")
    (claimed,) = claim("w1")
    silence(claimed.lease)

    rescue()

    assert (Job.objects.get().losses, JobRun.objects.get().outcome) == (0, "lost")
    assert "was silent, later alive" in JobRun.objects.get().message


@pytest.mark.parametrize(("beats_later", "losses"), [(0.1, 1), (1, 1), (2, 0)])
def test_a_beat_that_came_with_the_last_renewal_does_not_make_a_worker_alive(beats_later: float, losses: int) -> None:
    noop.enqueue()
    (claimed,) = claim("w1")
    silence(claimed.lease)
    renewed_at = Job.objects.get().lease_expires_at - timedelta(seconds=30)
    make_worker("w1", heartbeat_at=renewed_at + timedelta(seconds=10 * beats_later))

    rescue()

    assert Job.objects.get().losses == losses


def test_a_retry_by_a_person_forgets_the_losses() -> None:
    job = noop.using(max_attempts=1).enqueue()
    die("w1")
    job.refresh_from_db()

    job.retry()

    assert (job.state, job.losses, job.attempt) == (State.PENDING, 0, 0)


def test_a_requested_cancel_wins_over_the_rescue() -> None:
    job = noop.enqueue()
    (claimed,) = claim()
    job.cancel()
    silence(claimed.lease)

    rescue()

    assert Job.objects.get().state == State.CANCELLED


def test_rescue_is_not_blocked_by_rows_that_others_hold(transactional_db: None) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    noop.enqueue(), noop.enqueue()
    held, free = claim()
    silence(held.lease, free.lease)

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.job_id)
        (rescued,) = in_threads(rescue)

    assert [one.lease for one in rescued] == [free.lease]
    assert [one.lease for one in rescue()] == [held.lease]


def test_a_lease_renewed_while_the_rescuer_looked_is_not_stolen(transactional_db: None) -> None:
    """The renewal commits between the rescuer's snapshot and its lock: the lock must see the new lease."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer")
    noop.enqueue()
    (claimed,) = claim()

    for _ in range(30):
        silence(claimed.lease)
        renewals, rescued = in_threads(
            lambda: leases.renew([Beat(lease=claimed.lease)], lease_seconds=30, using="default"), rescue
        )
        if rescued:
            assert renewals[claimed.lease].answer != "done"
            return
        assert renewals[claimed.lease].answer == "done"


def test_two_rescuers_at_once_rescue_each_job_once(transactional_db: None) -> None:
    for _ in range(50):
        noop.enqueue()
    silence(*(one.lease for one in claim()))

    first, second = in_threads(rescue, rescue)

    rescued = [one.lease for one in [*first, *second, *rescue()]]
    assert len(rescued) == len(set(rescued)) == 50
    assert JobRun.objects.filter(outcome="lost").count() == 50


def test_jobs_whose_rescue_the_database_refuses_hide_no_later_one() -> None:
    jobs = [noop.enqueue() for _ in range(3)]
    silence(*(one.lease for one in claim()))
    for job in jobs[:2]:
        # Which no engine would have written: there can be no second run of a claim.
        JobRun.objects.create(
            job=job, claim_no=1, attempt=1, outcome="lost", due_at=clock.now(), finished_at=clock.now()
        )

    rescued = leases.rescue(limit=2, using="default")

    assert [one.lease.job_id for one in rescued] == [jobs[2].pk]
