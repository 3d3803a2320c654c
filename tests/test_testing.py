"""run_jobs: what it runs, in which order, and where it stops."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from jobs import Snooze, clock, job, operations
from jobs.exceptions import InvalidJob, JobsError
from jobs.models import Job, JobRun
from jobs.states import State
from jobs.testing import age, run_jobs
from tests.jobs import echo, fail, noop
from tests.leasing import claim
from tests.registering import own_registry

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forget_handlers() -> Iterator[None]:
    with own_registry():
        yield


def outcomes(**options: Any) -> list[tuple[int, str | None]]:
    return [(ran.job_id, ran.outcome) for ran in run_jobs(**options)]


def state_of(one: Job) -> str:
    one.refresh_from_db()
    return one.state


def in_hours(hours: float) -> datetime:
    return clock.read("default") + timedelta(hours=hours)


def test_run_jobs_runs_what_is_due_and_reports_it_in_order() -> None:
    first, second, first_of_all = echo.enqueue("one"), noop.enqueue(), noop.using(priority=5).enqueue()

    runs = run_jobs()

    assert [(ran.job_id, ran.kind, ran.outcome) for ran in runs] == [
        (first_of_all.pk, "noop", "succeeded"),
        (first.pk, "echo", "succeeded"),
        (second.pk, "noop", "succeeded"),
    ]
    first.refresh_from_db()
    assert (first.state, first.result, first.attempt, first.claim_no) == (State.SUCCEEDED, "one", 1, 1)
    assert JobRun.objects.get(job=first).worker == "run_jobs"


def test_run_jobs_runs_what_the_handlers_enqueue() -> None:
    @job("test")
    def countdown(number: int) -> None:
        if number:
            countdown.enqueue(number - 1)

    countdown.enqueue(3)

    assert len(run_jobs()) == 4


def test_a_second_run_finds_nothing_to_do() -> None:
    noop.enqueue()
    run_jobs()

    assert run_jobs() == []


def test_run_jobs_leaves_what_is_scheduled() -> None:
    later = noop.using(delay=60).enqueue()

    assert run_jobs() == []
    assert state_of(later) == State.SCHEDULED


def test_run_jobs_runs_a_job_whose_time_has_come() -> None:
    due = noop.using(delay=60).enqueue()
    age(due, 61)

    assert outcomes() == [(due.pk, "succeeded")]


def test_with_scheduled_runs_everything_scheduled_earliest_first_and_moves_no_time() -> None:
    tomorrow = noop.using(run_at=in_hours(24), priority=100).enqueue()
    soon = noop.using(run_at=in_hours(1)).enqueue()
    due = noop.enqueue()

    ran = outcomes(with_scheduled=True)

    assert [job_id for job_id, _ in ran] == [due.pk, soon.pk, tomorrow.pk]
    run_at = tomorrow.run_at
    tomorrow.refresh_from_db()
    assert tomorrow.run_at == run_at


def test_with_scheduled_runs_jobs_of_one_moment_by_priority() -> None:
    moment = in_hours(1)
    low = noop.using(run_at=moment).enqueue()
    high = noop.using(run_at=moment, priority=1).enqueue()

    assert [job_id for job_id, _ in outcomes(with_scheduled=True)] == [high.pk, low.pk]


def test_with_scheduled_until_a_datetime_leaves_what_is_due_later() -> None:
    moment = in_hours(1)
    at_it = noop.using(run_at=moment).enqueue()
    after_it = noop.using(run_at=moment + timedelta(milliseconds=1)).enqueue()

    assert outcomes(with_scheduled=moment) == [(at_it.pk, "succeeded")]
    assert state_of(after_it) == State.SCHEDULED


def test_with_scheduled_runs_retries_until_they_are_spent() -> None:
    failing = fail.using(max_attempts=3, backoff=3600).enqueue()

    runs = run_jobs(with_scheduled=True, raise_errors=False)

    assert [ran.outcome for ran in runs] == ["failed"] * 3
    assert state_of(failing) == State.DEAD


def test_with_scheduled_expires_a_job_that_would_be_too_late() -> None:
    late = noop.using(delay=7200, expires_at=in_hours(1)).enqueue()

    assert run_jobs(with_scheduled=True) == []
    assert state_of(late) == State.CANCELLED


def test_a_naive_datetime_for_with_scheduled_is_refused() -> None:
    with pytest.raises(InvalidJob, match=r"with_scheduled=.* has no time zone"):
        run_jobs(with_scheduled=datetime(2030, 1, 1))  # noqa: DTZ001


def test_run_jobs_expires_what_is_past_its_time() -> None:
    late = noop.using(expires_at=in_hours(-1)).enqueue()

    assert run_jobs() == []
    assert (state_of(late), late.error) == (State.CANCELLED, "Expired before it could start.")


def test_run_jobs_takes_over_a_job_whose_worker_fell_silent() -> None:
    left = noop.enqueue()
    claim("w1")
    age(left, 31)

    assert outcomes() == [(left.pk, "succeeded")]
    assert [run.outcome for run in JobRun.objects.filter(job=left).order_by("pk")] == ["lost", "succeeded"]


def test_run_jobs_leaves_a_job_that_a_worker_holds() -> None:
    noop.enqueue()
    claim("w1")

    assert run_jobs() == []


def test_queues_limit_the_run_and_order_it() -> None:
    other, one, two = (noop.using(queue=queue).enqueue() for queue in ("other", "one", "two"))

    assert [job_id for job_id, _ in outcomes(queues=["two", "one"])] == [two.pk, one.pk]
    assert state_of(other) == State.PENDING


def test_one_queue_may_be_given_as_text_and_limits_what_is_scheduled_too() -> None:
    mail = noop.using(queue="mail", delay=60).enqueue()
    other = noop.using(delay=60).enqueue()

    assert outcomes(queues="mail", with_scheduled=True) == [(mail.pk, "succeeded")]
    assert state_of(other) == State.SCHEDULED


def test_a_paused_queue_is_left() -> None:
    noop.using(queue="mail").enqueue()
    operations.pause("mail")

    assert run_jobs() == []


def test_the_run_is_bounded_and_says_which_kinds_come_back() -> None:
    @job("poll")
    def poll() -> None:
        poll.enqueue()

    noop.enqueue()
    poll.enqueue()

    with pytest.raises(JobsError, match=r"after max_runs=5 runs, most of it 'poll' \(5 times\), 'noop' \(1 times\)"):
        run_jobs(max_runs=5)
    assert Job.objects.pending().get().attempt == 0


def test_exactly_max_runs_are_no_error() -> None:
    noop.enqueue()
    noop.enqueue()

    assert len(run_jobs(max_runs=2)) == 2


def test_a_job_that_snoozes_for_ever_is_bounded_too() -> None:
    @job("sleepy")
    def sleepy() -> None:
        raise Snooze(3600)

    sleepy.enqueue()

    with pytest.raises(JobsError, match="'sleepy'"):
        run_jobs(with_scheduled=True, max_runs=10)
