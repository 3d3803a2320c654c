"""Why a job is as it is: one test for each cause."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, operations
from jobs.models import Job, Worker
from jobs.operations import Actor
from jobs.outcomes import Discarded, Failed, Failure, Lost, Snoozed, Stopped, Unclaimable
from jobs.stats import facts
from tests.jobs import noop
from tests.leasing import BROKEN, OK, claim, make_worker, settle, silence
from tests.plans import assert_cheap

pytestmark = pytest.mark.django_db

ALICE = Actor("1", "alice")
HOPELESS = Failed(failure=BROKEN.failure, is_hopeless=True)


def lost(deaths: int = 1) -> Lost:
    return Lost(
        started=True,
        worker="w1",
        last_heard="long ago",
        deaths=deaths,
        quarantine_losses=3,
        worker_is_alive=False,
    )


def explained(job: Job) -> str:
    """Return what is said of the job as it is stored, with times and durations left out."""
    text = Job.objects.get(pk=job.pk).explain()
    text = re.sub(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC", "TIME", text)
    return re.sub(r"\d[\d.]* (ms|s|min|h|d)\b( \d+ (s|min|h)\b)?", "LONG", text)


def ended(outcome: Any, *, facts: Any = None, **options: Any) -> Job:
    job = noop.using(**options).enqueue()
    (claimed,) = claim()
    settle(claimed.lease, outcome, facts=facts or claimed)
    return job


def crew(**values: Any) -> Worker:
    return make_worker("w9", **({"kinds": ["noop"], "queues": []} | values))


def test_a_job_for_later_says_when() -> None:
    assert explained(noop.using(delay=90).enqueue()) == "Attempt 1 of 8 is due at TIME, in LONG."


def test_a_job_that_is_due_and_not_promoted_says_so() -> None:
    job = noop.using(delay=90).enqueue()
    Job.objects.update(run_at=clock.in_seconds(-5))
    assert explained(job) == "It came due at TIME. No worker is alive: start one with manage.py runworkers."

    crew()

    assert explained(job) == "It came due at TIME, and becomes pending in a moment."


def test_a_job_that_backs_off_says_after_what_and_which_attempt_comes() -> None:
    job = ended(BROKEN)

    assert explained(job) == "Attempt 1 failed: ValueError: boo. Attempt 2 of 8 is due at TIME, in LONG."


def test_a_job_that_used_up_its_timeout_says_so() -> None:
    job = ended(Failed(failure=Failure(exception_class="TimedOut", message=""), timed_out=True))

    assert explained(job) == "Attempt 1 used up its timeout. Attempt 2 of 8 is due at TIME, in LONG."


def test_a_snoozed_job_says_why() -> None:
    job = ended(Snoozed(60, "The file is not there yet."))

    assert explained(job) == (
        "Its handler put it off: The file is not there yet. Attempt 1 of 8 is due at TIME, in LONG."
    )


def test_a_job_of_a_kind_nobody_knows_says_how_long_it_waits() -> None:
    job = ended(Unclaimable(kind="noop", given_up=False))

    assert explained(job) == (
        "No worker that met it since TIME knows the kind noop: it is offered again, and goes to dead after TIME. "
        "Attempt 1 of 8 is due at TIME, in LONG."
    )


def test_a_job_that_was_retried_and_put_off_does_not_speak_of_older_attempts() -> None:
    job = ended(HOPELESS)
    job.retry()
    Job.objects.update(state="scheduled", run_at=clock.in_seconds(60))

    assert explained(job) == "Attempt 1 of 8 is due at TIME, in LONG."


def test_a_postponed_job_says_who_postponed_it() -> None:
    job = noop.enqueue()
    job.postpone(run_at=clock.read("default") + timedelta(hours=1), actor=ALICE, reason="Too early.")

    assert explained(job) == "alice postponed it: Too early. Attempt 1 of 8 is due at TIME, in LONG."

    Job.objects.update(run_at=clock.in_seconds(60))

    assert explained(job) == "Attempt 1 of 8 is due at TIME, in LONG."


def test_a_held_job_says_who_paused_its_queue_and_why() -> None:
    job = noop.enqueue()
    crew()
    operations.pause("default", actor=ALICE, reason="Upgrade")

    assert explained(job) == (
        "Held: alice paused the queue default at TIME: Upgrade. It waits until somebody resumes the queue."
    )


def test_a_held_job_says_when_its_queue_resumes() -> None:
    job = noop.enqueue()
    crew()
    operations.pause("default", resume_at=clock.read("default") + timedelta(hours=1))

    assert explained(job) == (
        "Held: the system paused the queue default at TIME. The queue resumes by itself at TIME, in LONG."
    )


def test_without_a_worker_a_job_says_what_to_start() -> None:
    make_worker("w1", heartbeat_at=clock.in_seconds(-600))
    make_worker("w2", draining_at=clock.now())

    assert explained(noop.enqueue()) == "No worker is alive: start one with manage.py runworkers."


def test_a_job_of_a_queue_that_nobody_serves_says_so() -> None:
    crew(queues=["mail"])

    assert explained(noop.enqueue()) == "No live worker serves the queue default."


def test_a_job_of_a_kind_that_no_worker_of_its_queue_knows_says_so() -> None:
    crew(queues=["mail"])
    make_worker("w2", kinds=["echo"], queues=["default"])

    assert explained(noop.enqueue()) == "No live worker of the queue default knows the kind noop."


def test_a_job_that_is_next_says_so() -> None:
    crew()

    assert explained(noop.enqueue()) == "It is next: a worker takes it in a moment."


def test_a_job_says_how_many_come_first() -> None:
    crew()
    noop.using(priority=1).enqueue(), noop.enqueue(), noop.using(queue="mail", priority=9).enqueue()
    job = noop.enqueue()
    noop.enqueue(), noop.using(priority=-1).enqueue()

    assert explained(job) == "2 jobs of its queue come first."


def test_many_that_come_first_are_not_counted_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_AHEAD", 3)
    monkeypatch.setattr("jobs.stats.waiting.MOST_AHEAD", 3)
    crew()
    for _ in range(5):
        noop.enqueue()

    assert explained(noop.enqueue()) == "More than 3 jobs of its queue come first."


def test_a_job_says_that_all_slots_are_busy() -> None:
    crew(running=4)
    make_worker("w2", kinds=["echo"], running=0)

    assert explained(noop.enqueue()) == "All 4 slots that could run it are busy."


def test_a_job_that_workers_died_of_says_what_it_waits_for() -> None:
    crew()
    job = ended(lost())

    assert explained(job) == "1 worker died while running it, so it waits until one has nothing else to do."


def test_a_job_claimed_ahead_says_that_it_waits_for_a_slot() -> None:
    job = noop.enqueue()
    make_worker("w1")
    claim(slots=0, ahead=1)

    assert explained(job) == (
        "Worker w1 has claimed it ahead of time, and starts it when one of its slots is free. "
        "The lease ends at TIME, in LONG, unless a heartbeat renews it. The worker's last heartbeat came LONG ago."
    )


def test_a_running_job_says_who_has_it_until_when() -> None:
    job = noop.enqueue()
    make_worker("w1")
    claim()

    assert explained(job) == (
        "Worker w1 has run attempt 1 of 8 for LONG. The lease ends at TIME, in LONG, unless a heartbeat renews it. "
        "The worker's last heartbeat came LONG ago."
    )


def test_a_job_whose_lease_has_ended_says_what_becomes_of_it() -> None:
    job = noop.enqueue()
    (claimed,) = claim()
    silence(claimed.lease)
    assert explained(job) == (
        "Worker w1 has run attempt 1 of 8 for LONG. The lease ended at TIME, LONG ago. "
        "No worker is alive: start one with manage.py runworkers."
    )

    crew()

    assert explained(job).endswith("The lease ended at TIME, LONG ago. Another worker takes it over in a moment.")


def test_a_job_that_is_being_cancelled_says_who_asked() -> None:
    job = noop.enqueue()
    claim()
    job.cancel(actor=ALICE, reason="Wrong file.")

    assert (
        "alice asked it to stop at TIME: Wrong file. "
        "It ends as cancelled when its handler obeys, fails or loses its lease. The lease ends"
    ) in explained(job)


class Last:
    attempt, max_attempts, backoff = 8, 8, None


NO_MORE = "It waits for somebody to retry it. It is deleted after TIME."


@pytest.mark.parametrize(
    ("outcome", "options", "cause"),
    [
        (BROKEN, {"max_attempts": 1}, "Its only attempt failed: ValueError: boo."),
        (HOPELESS, {}, "Attempt 1 failed in a way that is never retried: ValueError: boo."),
        (Discarded("No such user."), {}, "Its handler gave it up in attempt 1: No such user."),
        (lost(), {"max_attempts": 1}, "Lease expired on the last attempt (w1)."),
        (Unclaimable(kind="noop", given_up=True), {}, "No handler for kind 'noop' in any live worker."),
    ],
    ids=["attempts spent", "hopeless", "discarded", "lost", "no handler"],
)
def test_a_dead_job_says_what_it_died_of(outcome: Any, options: dict[str, Any], cause: str) -> None:
    assert explained(ended(outcome, **options)) == f"{cause} {NO_MORE}"


def test_a_job_that_spent_several_attempts_says_how_many() -> None:
    job = ended(BROKEN, facts=Last)
    Job.objects.update(attempt=8)

    assert explained(job) == f"All 8 attempts are spent; the last failed: ValueError: boo. {NO_MORE}"


def test_a_quarantined_job_says_so() -> None:
    from jobs import leases

    job = noop.enqueue()
    for _ in range(3):
        for claimed in claim() or leases.claim_suspect("w1", lease_seconds=30, using="default"):
            silence(claimed.lease)
        leases.rescue(using="default")

    assert explained(job) == f"Quarantined: 3 workers died while running it, the last one w1. {NO_MORE}"


def test_a_cancelled_job_says_who_cancelled_it_and_why() -> None:
    job = noop.enqueue()
    job.cancel(actor=ALICE, reason="Not needed")

    assert explained(job) == "alice cancelled it at TIME: Not needed. It is deleted after TIME."


def test_a_discarded_job_says_who_discarded_it() -> None:
    job = ended(HOPELESS)
    job.discard(actor=ALICE, reason="Known.")

    assert explained(job) == "alice discarded it at TIME: Known. It is deleted after TIME."


def test_a_job_cancelled_by_its_code_says_so() -> None:
    job = noop.enqueue()
    job.cancel(actor=ALICE)
    job.retry()
    (claimed,) = claim()
    settle(claimed.lease, Stopped("Nothing to do."))

    assert explained(job) == "Its own code cancelled it: Nothing to do. It is deleted after TIME."


def test_an_expired_job_says_so() -> None:
    from jobs import maintenance

    job = noop.using(delay=60, expires_at=clock.read("default") + timedelta(hours=1)).enqueue()
    assert explained(job).endswith("If it has not started by TIME, it is cancelled.")
    Job.objects.update(expires_at=clock.in_seconds(-1))

    maintenance.expire(using="default")

    assert explained(job) == "It had not started when its time to expire came. It is deleted after TIME."


def test_a_succeeded_job_says_when() -> None:
    assert explained(ended(OK)) == "Attempt 1 of 8 succeeded at TIME. It is deleted after TIME."


def test_what_is_kept_for_ever_is_not_said_to_be_deleted(settings: Any) -> None:
    settings.JOBS = {"RETENTION": {"succeeded": None}}

    assert explained(ended(OK)) == "Attempt 1 of 8 succeeded at TIME."


def test_a_unique_job_says_what_its_key_means() -> None:
    job = noop.using(unique_key="k", delay=60).enqueue()

    assert explained(job).endswith("No other job can be enqueued under its unique key while it lives.")


def test_a_job_whose_key_is_taken_names_the_one_that_has_it() -> None:
    job = ended(HOPELESS, unique_key="k")
    twin = noop.using(unique_key="k").enqueue()

    assert explained(job).endswith(f"It cannot be retried while job #{twin.pk} holds its unique key.")


def running() -> Job:
    job = noop.enqueue()
    claim()
    return job


@pytest.mark.parametrize(
    "make",
    [
        lambda: noop.using(delay=60, unique_key="k").enqueue(),
        lambda: noop.using(unique_key="k").enqueue(),
        running,
        lambda: ended(HOPELESS, unique_key="k"),
    ],
    ids=["scheduled", "pending", "running", "dead"],
)
def test_an_explanation_takes_few_queries(make: Callable[[], Job]) -> None:
    crew()
    job = Job.objects.get(pk=make().pk)

    with CaptureQueriesContext(connection) as queries:
        job.explain()

    assert len(queries) <= 5


@pytest.mark.usefixtures("crowd")
def test_an_explanation_reads_little_of_a_crowded_table() -> None:
    job = Job.objects.filter(queue="bulk").order_by("-pk")[0]
    crew()

    assert_cheap(job.explain, most=600)
