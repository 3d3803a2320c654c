"""What has happened to one job, and lately to its kind."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs import clock, stats
from jobs.clock import EPOCH
from jobs.models import Job, JobRun
from jobs.stats import Lately, history, recent
from tests.jobs import echo, noop
from tests.leasing import BROKEN, OK, claim, settle

pytestmark = pytest.mark.django_db


def test_the_timeline_keeps_the_newest_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "NEWEST_RUNS", 2)
    job = noop.enqueue()
    for _ in range(3):
        settle(claim()[0].lease, BROKEN)
        job.trigger()

    job.refresh_from_db()
    titles = [moment.title for moment in stats.timeline(job)]

    assert titles == ["Enqueued", "Run now", "Attempt 2: Failed", "Run now", "Attempt 3: Failed", "Run now"]


def test_the_timeline_says_how_long_each_run_waited_and_took() -> None:
    noop.enqueue()
    Job.objects.update(run_at=clock.in_seconds(-60))
    settle(claim()[0].lease, BROKEN, duration=2.0)
    run = JobRun.objects.get()
    assert run.started_at is not None

    moment = stats.timeline(Job.objects.get())[1]

    assert (moment.waited, moment.took) == (run.started_at - run.due_at, timedelta(seconds=2))
    assert timedelta(seconds=56) < run.started_at - run.due_at < timedelta(seconds=87)


def test_a_run_that_began_before_it_was_due_waited_for_nothing() -> None:
    noop.enqueue()
    settle(claim()[0].lease, duration=100.0)

    assert stats.waited(JobRun.objects.get()) == timedelta(0)


def test_a_run_that_was_never_seen_to_start_waited_for_nobody_knows_how_long() -> None:
    assert stats.waited(JobRun(started_at=None)) is None


def run_of(seconds: float | None, outcome: str = "succeeded", *, waited: float = 0.0) -> JobRun:
    started_at = None if seconds is None else EPOCH
    return JobRun(
        outcome=outcome,
        due_at=EPOCH - timedelta(seconds=waited),
        started_at=started_at,
        finished_at=EPOCH + timedelta(seconds=seconds or 0),
    )


def test_what_a_kind_took_lately_is_by_nearest_rank_over_the_runs_that_started() -> None:
    lately = Lately([run_of(seconds, waited=2 * seconds) for seconds in range(1, 21)] + [run_of(None, "lost")])

    assert lately.took(0.5) == timedelta(seconds=10)
    assert lately.took(0.95) == timedelta(seconds=19)
    assert lately.took(1) == timedelta(seconds=20)
    assert lately.waited(0.05) == timedelta(seconds=2)
    assert lately.failed == 1 / 21


def test_of_a_kind_without_runs_there_is_nothing_to_say() -> None:
    lately = stats.lately(kind="noop", using="default")

    assert (lately.runs, lately.failed, lately.took(0.5)) == ([], 0.0, None)


def test_the_newest_runs_of_a_kind_come_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MOST_RUNS", 3)
    for outcome in (BROKEN, OK, BROKEN):
        echo.enqueue(1)
        job = noop.enqueue()
        for claimed in claim():
            settle(claimed.lease, outcome)
    job.trigger()
    settle(claim()[0].lease)

    runs = stats.lately(kind="noop", using="default").runs

    assert [(run.job_id == job.pk, run.outcome) for run in runs] == [
        (False, "succeeded"),
        (True, "failed"),
        (True, "succeeded"),
    ]


def test_runs_of_a_kind_are_looked_for_among_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    noop.enqueue()
    settle(claim()[0].lease)
    echo.enqueue(1)
    monkeypatch.setattr(recent, "WINDOW", 1)

    assert stats.lately(kind="noop", using="default").runs == []
