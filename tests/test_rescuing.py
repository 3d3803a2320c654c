"""Taking back leases by hand: what a worker would do by itself, with who did it and why."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client

from jobs import job as job_decorator
from jobs import leases, operations
from jobs.leases import Lease
from jobs.models import Job, JobEvent, JobRun
from jobs.operations import Actor
from tests.jobs import noop
from tests.leasing import claim, elsewhere, settle, silence
from tests.registering import own_registry
from tests.test_admin import LogIn, act, ask, log_in, running_job, told, url

pytestmark = pytest.mark.django_db

__all__ = ["log_in"]
ALICE = Actor("7", "alice")
WARNING = "the job runs twice"


def lease_of(job: Job) -> Lease:
    return Lease(job.pk, job.claim_no)


def abandoned_job(**options: Any) -> Job:
    """Return a running job whose worker has fallen silent."""
    job = running_job(**options)
    silence(lease_of(job))
    return job


def test_an_expired_lease_is_taken_back_with_who_and_why() -> None:
    job = abandoned_job()

    report = operations.rescue(Job.objects.all(), actor=ALICE, reason="The host burnt down.")

    job.refresh_from_db()
    run, event = JobRun.objects.get(), JobEvent.objects.get()
    assert (report.moved, report.skipped) == (1, 0)
    assert (job.state, job.attempt, job.losses, job.lease_owner) == ("pending", 1, 1, "")
    assert (run.outcome, run.worker) == ("lost", "w1")
    assert (event.kind, event.job_id, event.actor_label) == ("rescued", job.pk, "alice")
    assert event.reason == "The host burnt down."


def test_who_lost_the_lease_changes_nothing_any_more() -> None:
    job = abandoned_job()

    operations.rescue(Job.objects.all())

    assert settle(lease_of(job)) == leases.Answer.LOST
    assert Job.objects.get().state == "pending"


def test_one_that_was_on_its_last_attempt_is_dead() -> None:
    abandoned_job(max_attempts=1)

    report = operations.rescue(Job.objects.all())

    job = Job.objects.get()
    assert (report.moved, job.state) == (1, "dead")
    assert "lease expired on the last attempt" in job.explain().lower()


def test_one_that_was_asked_to_stop_is_cancelled() -> None:
    abandoned_job().cancel()

    report = operations.rescue(Job.objects.all())

    assert (report.moved, Job.objects.get().state) == (1, "cancelled")


def test_what_had_not_started_gets_its_attempt_back() -> None:
    noop.enqueue()
    (claimed,) = claim(slots=0, ahead=1)
    silence(claimed.lease)

    operations.rescue(Job.objects.all())

    job = Job.objects.get()
    assert (job.state, job.attempt, job.losses) == ("pending", 0, 0)


def test_a_live_lease_and_what_does_not_run_are_left_alone() -> None:
    running_job(), noop.enqueue()

    report = operations.rescue(Job.objects.all())

    assert (report.moved, report.skipped) == (0, 2)
    assert not JobEvent.objects.exists()


def test_only_the_jobs_that_are_meant_are_rescued() -> None:
    meant, other = abandoned_job(), abandoned_job()

    operations.rescue(Job.objects.filter(pk=meant.pk))

    assert Job.objects.running().get() == other


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite locks the whole database.")
@pytest.mark.django_db(transaction=True)
def test_a_lease_that_is_being_renewed_is_not_stolen() -> None:
    job = abandoned_job()
    renewal = "UPDATE jobs_job SET lease_expires_at = statement_timestamp() + interval '30 s' WHERE id = %s"

    with elsewhere(renewal, job.pk):
        report = operations.rescue(Job.objects.all())

    assert (report.moved, report.skipped) == (0, 1)
    assert Job.objects.get().state == "running"


def test_a_kind_with_a_permission_runs_again_for_whoever_has_it() -> None:
    with own_registry():
        refund = job_decorator("refund", permission="billing.refund", queue="busy")(lambda: None)
        refund.enqueue()
        silence(*(claimed.lease for claimed in claim(queues=["busy"])))
        barred, holder = (
            Actor("7", "alice", permission.__eq__) for permission in ("jobs.rescue_job", "billing.refund")
        )

        reports = [operations.rescue(Job.objects.all(), actor=actor) for actor in (barred, holder)]

    assert [(report.forbidden, report.moved) for report in reports] == [(1, 0), (0, 1)]


def test_the_page_offers_it_where_the_lease_has_expired_and_says_why_not_elsewhere(admin_client: Client) -> None:
    abandoned, running, waiting = abandoned_job(), running_job(), noop.enqueue()

    pages = [admin_client.get(url("job_change", job.pk)).content.decode() for job in (abandoned, running, waiting)]

    assert url("job_do", abandoned.pk, "rescue") in pages[0]
    assert url("job_do", running.pk, "rescue") not in pages[1]
    assert "Its lease has not expired." in pages[1]
    assert 'id="jobs-not-rescue">It is not running.' in pages[2]


def test_it_warns_of_a_double_run_before_it_is_done(log_in: LogIn) -> None:
    client, job = log_in("rescue_job"), abandoned_job()
    address = url("job_do", job.pk, "rescue")

    question, answer = client.get(address), client.post(address, {"reason": "gone"})

    assert WARNING in question.content.decode()
    assert told(answer) == ["The lease of 1 job was taken back."]
    assert Job.objects.get().state == "pending"


def test_a_lease_that_was_renewed_meanwhile_stays(log_in: LogIn) -> None:
    client, job = log_in("rescue_job"), running_job()

    response = client.post(url("job_do", job.pk, "rescue"))

    assert told(response) == ["Its lease has not expired."]
    assert Job.objects.get().state == "running"


def test_several_are_taken_back_from_the_list(log_in: LogIn) -> None:
    client = log_in("rescue_job")
    jobs = [abandoned_job(), abandoned_job(), running_job()]

    question, answer = ask(client, "rescue", *jobs), act(client, "rescue", *jobs)

    assert WARNING in question.content.decode()
    assert told(answer)[0] == "The leases of 2 jobs were taken back."
    assert "1 job was left alone" in told(answer)[1]


def test_all_that_match_are_taken_back(log_in: LogIn) -> None:
    client = log_in("rescue_job")
    abandoned_job(), abandoned_job(), running_job()
    address = url("job_all", "rescue") + "?state=running"

    question = client.get(address)
    sealed = question.context["kept"]["selection"][0]
    answer = client.post(address, {"selection": sealed})

    assert WARNING in question.content.decode()
    assert told(answer)[0] == "The leases of 2 jobs were taken back."
    assert Job.objects.running().count() == 1


def test_it_is_told_among_the_events(admin_client: Client) -> None:
    job = abandoned_job()
    operations.rescue(Job.objects.all(), actor=ALICE)

    events = admin_client.get(url("jobevent_changelist")).content.decode()
    page = admin_client.get(url("job_change", job.pk)).content.decode()

    assert "alice took back the lease of" in events
    assert "Lease taken back" in page
