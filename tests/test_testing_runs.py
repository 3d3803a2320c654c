"""run_jobs: how it calls handlers, and what it raises."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import Group
from django.test import override_settings

from jobs import Cancel, Discard, JobContext, Retry, Snooze, current, job, signals
from jobs.exceptions import JobsError, LeaseLost, UnknownKind
from jobs.models import Job, JobRun
from jobs.states import State
from jobs.testing import Ran, run_jobs
from tests.jobs import fail, noop
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


def test_handlers_are_called_with_their_arguments_and_context() -> None:
    seen: list[Any] = []

    @job("test", takes_context=True)
    def record(ctx: JobContext, *args: Any, **payload: Any) -> None:
        seen.append((ctx.job_id, current() is ctx, ctx.attempt, args, payload))

    enqueued = record.enqueue(1, two=2)
    run_jobs()

    assert seen == [(enqueued.pk, True, 1, (1,), {"two": 2})]


def test_progress_and_log_are_stored() -> None:
    @job("test", takes_context=True)
    def report(ctx: JobContext) -> None:
        ctx.log("half way")
        ctx.progress(5, 10)

    reporting = report.enqueue()
    run_jobs()

    reporting.refresh_from_db()
    assert reporting.progress == {"done": 5, "total": 10, "message": ""}
    assert JobRun.objects.get().log == "half way"


def test_an_async_handler_runs_on_the_tests_own_connection() -> None:
    @job("test")
    async def count(name: str) -> int:
        await asyncio.sleep(0)
        await Group.objects.acreate(name=name)
        assert current().kind == "test"
        return await sync_to_async(Group.objects.count)()

    Group.objects.create(name="made by the test")
    counting = count.enqueue("made by the job")
    run_jobs()

    counting.refresh_from_db()
    assert counting.result == 2


def test_run_jobs_works_from_an_async_test() -> None:
    async def enqueue_and_run() -> list[Ran]:
        await noop.aenqueue()
        return await sync_to_async(run_jobs)()

    runs = async_to_sync(enqueue_and_run)()

    assert [ran.outcome for ran in runs] == ["succeeded"]


@pytest.mark.parametrize(
    ("verb", "outcome", "state"),
    [
        pytest.param(Retry(after=60), "failed", State.SCHEDULED, id="retry"),
        pytest.param(Snooze(60), "snoozed", State.SCHEDULED, id="snooze"),
        pytest.param(Discard("no use"), "discarded", State.DEAD, id="discard"),
        pytest.param(Cancel("not needed"), "cancelled", State.CANCELLED, id="cancel"),
    ],
)
def test_a_verb_ends_the_run_and_is_no_error(verb: Exception, outcome: str, state: State) -> None:
    @job("test")
    def say() -> None:
        raise verb

    saying = say.enqueue()

    assert outcomes() == [(saying.pk, outcome)]
    assert state_of(saying) == state


def test_a_receiver_hears_of_runs() -> None:
    heard: list[Any] = []

    def hear(sender: str, *, signal: Any, **_: Any) -> None:
        heard.append((sender, signal))

    signals.run_started.connect(hear)
    signals.run_finished.connect(hear)
    noop.enqueue()
    run_jobs()

    assert heard == [("noop", signals.run_started), ("noop", signals.run_finished)]


def test_a_handlers_error_is_settled_and_raised() -> None:
    failing = fail.enqueue("no luck")

    with pytest.raises(ValueError, match="no luck"):
        run_jobs()

    assert (state_of(failing), failing.error) == (State.SCHEDULED, "ValueError: no luck")
    assert JobRun.objects.get().outcome == "failed"


def test_without_raise_errors_the_report_has_the_error_and_the_rest_runs() -> None:
    fail.using(backoff=3600).enqueue()
    after = noop.enqueue()

    failed, succeeded = run_jobs(raise_errors=False)

    assert (failed.outcome, str(failed.error)) == ("failed", "boo")
    assert (succeeded.job_id, succeeded.outcome, succeeded.error) == (after.pk, "succeeded", None)


@pytest.mark.parametrize("odd", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_odd_exceptions_are_failures(odd: type[BaseException], *, is_async: bool) -> None:
    async def later() -> None:
        raise odd

    def now() -> None:
        raise odd

    failing = job("test", backoff=3600)(later if is_async else now).enqueue()
    (ran,) = run_jobs(raise_errors=False)

    assert (ran.outcome, type(ran.error)) == ("failed", odd)
    assert state_of(failing) == State.SCHEDULED


def test_a_result_that_json_cannot_hold_is_an_error() -> None:
    @job("test")
    def unstorable() -> object:
        return {1, 2}

    hopeless = unstorable.enqueue()

    with pytest.raises(JobsError, match="UnstorableResult: The handler returned a set that JSON cannot hold"):
        run_jobs()
    assert state_of(hopeless) == State.DEAD


def test_a_bad_snooze_is_an_error() -> None:
    @job("test")
    def say() -> None:
        raise Snooze(-1)

    say.enqueue()

    with pytest.raises(JobsError, match="Snooze=-1 is out of range"):
        run_jobs()


def test_a_kind_that_nobody_handles_is_an_error_and_the_job_is_put_off() -> None:
    with override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True}):
        strange = Job.objects.enqueue("strange")

    with pytest.raises(
        UnknownKind, match=f"Job #{strange.pk} is of kind 'strange', which no handler is registered for"
    ):
        run_jobs()
    assert (state_of(strange), strange.attempt) == (State.SCHEDULED, 0)


@override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True})
def test_a_kind_that_another_process_handles_is_reported_once_without_an_outcome() -> None:
    strange = Job.objects.enqueue("strange")
    known = noop.enqueue()

    assert outcomes(with_scheduled=True) == [(strange.pk, None), (known.pk, "succeeded")]
    assert [ran.error for ran in run_jobs()] == []


def test_a_job_that_is_taken_away_during_its_run_says_so() -> None:
    @job("test", takes_context=True)
    def careless(ctx: JobContext) -> None:
        Job.objects.filter(pk=ctx.job_id).delete()

    careless.enqueue()

    with pytest.raises(LeaseLost, match="was taken away while its handler ran"):
        run_jobs()
