"""A whole worker in this process: what handlers do to it, and what it does to jobs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import override_settings

from jobs import Cancel, Discard, JobContext, Retry, Snooze, clock, current, job, operations
from jobs.models import Job, JobRun, Queue, Worker
from jobs.runtime.pace import AHEAD_SECONDS
from jobs.states import State
from tests.bad_values import raises, returns
from tests.jobs import echo, noop
from tests.leasing import claim, in_threads, silence
from tests.working import burst, running, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

# The lease outlasts whatever keeps a busy machine from a heartbeat.
FAST = {"LEASE_SECONDS": 60, "HEARTBEAT_SECONDS": 0.5, "POLL_SECONDS": 0.05}

SEEN: list[Any] = []
GATE = threading.Event()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    SEEN.clear()
    GATE.clear()
    with override_settings(JOBS=FAST):
        yield
    GATE.set()


@job("worker.context", takes_context=True)
def sees_context(ctx: JobContext) -> None:
    SEEN.append((ctx is current(), ctx.job_id, ctx.attempt, ctx.fencing_token, ctx.idempotency_key, dict(ctx.metadata)))
    ctx.log("first line")
    ctx.log("second line")


@job("worker.verb")
def verb(name: str) -> None:
    raise {
        "snooze": Snooze(60, "not yet"),
        "retry": Retry("again", after=timedelta(seconds=90)),
        "discard": Discard("no use"),
        "cancel": Cancel("not needed"),
        "bad snooze": Snooze("soon"),  # type: ignore[arg-type]
    }[name]


@job("worker.waits", takes_context=True)
def waits(ctx: JobContext) -> None:
    SEEN.append(ctx.job_id)
    while not GATE.wait(0.01):
        ctx.progress(1, 2, "waiting")


@job("worker.deaf", timeout=0.2)
def deaf() -> None:
    SEEN.append("called")
    GATE.wait(30)


@job("worker.polite", takes_context=True, timeout=0.2, max_attempts=1)
def polite(ctx: JobContext) -> None:
    while not GATE.wait(0.01):
        ctx.check()


@job("worker.slow")
def slow() -> None:
    """Take too long for anything to be claimed ahead."""
    time.sleep(2 * AHEAD_SECONDS)


@job("worker.async")
async def asynchronous(value: Any) -> Any:
    if value == "exit":
        raise SystemExit(3)
    SEEN.append((current().kind, await User.objects.acount()))
    return value


@job("worker.async_waits")
async def async_waits() -> None:
    import asyncio

    SEEN.append("started")
    try:
        await asyncio.sleep(60)
    finally:
        SEEN.append("cleaned up")


@job("worker.atomic", atomic=True)
def atomic(name: str, ending: str = "return") -> None:
    User.objects.create(username=name)
    if ending == "raise":
        raise ValueError("after the insert")
    if ending == "hook":
        transaction.on_commit(lambda: 1 / 0)
    if ending == "lose":
        job_id = current().job_id
        in_threads(lambda: Job.objects.filter(pk=job_id).update(claim_no=99))


@job("worker.leaves_transaction")
def leaves_transaction() -> None:
    transaction.set_autocommit(False)
    User.objects.create(username="never committed")


@job("worker.closes_connection")
def closes_connection() -> None:
    connection.close()


@job("worker.backoff", backoff=lambda attempt, error: 1000 + attempt)
def own_backoff() -> None:
    raise ValueError("boo")


@job("worker.never_retry", never_retry=(KeyError,))
def never_retried() -> None:
    raise KeyError("gone")


def test_messages_are_stored_with_bad_characters_escaped_and_cut() -> None:
    for name in ("NUL", "surrogate", "huge", "broken text"):
        raises.enqueue(name)

    burst()

    messages = dict(JobRun.objects.values_list("job__args__0", "message"))
    assert messages["NUL"] == "x\\x00y"
    assert messages["surrogate"] == "\\ud800"
    assert len(messages["huge"]) < 30_000
    assert messages["broken text"] == "<unprintable BadText>"


def test_results_come_back() -> None:
    kept = echo.enqueue({"a": [1, "ü", None]})
    odd = returns.enqueue("nested infinities")
    big = returns.enqueue("10 MB")
    deep = returns.enqueue("endless")

    burst()

    for one in (kept, odd, big, deep):
        one.refresh_from_db()
    assert kept.result == {"a": [1, "ü", None]}
    assert odd.result == {"a": ["inf", {"b": ["-inf", "nan"]}], "c": "nan"}
    assert big.result == {"omitted": "The result is 10,000,002 bytes of JSON; the limit is 262,144."}
    assert deep.result == {"omitted": "The result is nested deeper than 100 levels."}


def test_a_handler_sees_its_run() -> None:
    one = sees_context.using(metadata={"tenant": 7}).enqueue()

    burst()

    ((is_current, job_id, attempt, token, key, metadata),) = SEEN
    assert (is_current, job_id, attempt, token, metadata) == (True, one.pk, 1, 1, {"tenant": 7})
    assert key.startswith(f"{one.pk}-")
    assert JobRun.objects.get().log == "first line\nsecond line"


@pytest.mark.parametrize(
    ("name", "state", "attempt", "outcome"),
    [
        ("snooze", State.SCHEDULED, 0, "snoozed"),
        ("retry", State.SCHEDULED, 1, "failed"),
        ("discard", State.DEAD, 1, "discarded"),
        ("cancel", State.CANCELLED, 1, "cancelled"),
        ("bad snooze", State.DEAD, 1, "failed"),
    ],
)
def test_what_a_handler_asks_for_is_done(name: str, state: str, attempt: int, outcome: str) -> None:
    one = verb.enqueue(name)

    burst()

    one.refresh_from_db()
    assert (one.state, one.attempt, JobRun.objects.get().outcome) == (state, attempt, outcome)


@pytest.mark.parametrize(("kind", "seconds"), [("worker.backoff", 1001), ("worker.verb", 90)])
def test_a_handler_chooses_when_to_be_tried_again(kind: str, seconds: int) -> None:
    one = Job.objects.enqueue(kind, {"name": "retry"} if kind == "worker.verb" else None)

    burst()

    one.refresh_from_db()
    left = one.run_at - clock.read("default")
    assert left == pytest.approx(timedelta(seconds=seconds), abs=timedelta(seconds=5))


def test_an_exception_type_listed_as_never_retry_goes_to_dead() -> None:
    one = never_retried.enqueue()

    burst()

    one.refresh_from_db()
    assert (one.state, one.attempt) == (State.DEAD, 1)


def test_async_handlers_run_with_their_own_connections() -> None:
    jobs = [asynchronous.enqueue(number) for number in range(5)]
    interrupted = asynchronous.using(max_attempts=1).enqueue("exit")

    burst()

    assert [Job.objects.get(pk=one.pk).result for one in jobs] == [0, 1, 2, 3, 4]
    assert SEEN == [("worker.async", 0)] * 5
    interrupted.refresh_from_db()
    assert (interrupted.state, interrupted.error) == (State.DEAD, "SystemExit: 3")


def test_an_async_handler_is_cancelled_at_its_timeout() -> None:
    one = async_waits.using(timeout=0.2, max_attempts=1).enqueue()

    burst()

    one.refresh_from_db()
    assert SEEN == ["started", "cleaned up"]
    assert (one.state, JobRun.objects.get().outcome) == (State.DEAD, "timed_out")


def test_a_handler_that_checks_ends_at_its_timeout() -> None:
    one = polite.enqueue()

    code = burst()

    one.refresh_from_db()
    assert (code, one.state, JobRun.objects.get().outcome) == (0, State.DEAD, "timed_out")
    assert "has used up its timeout" in one.error


def test_a_handler_deaf_to_its_timeout_is_settled_last_and_the_process_says_so() -> None:
    one = deaf.using(max_attempts=1).enqueue()

    with override_settings(JOBS=FAST | {"STOP_GRACE_SECONDS": 0.3}), running(concurrency=2) as worker:
        worker.thread.join(20)

    one.refresh_from_db()
    assert worker.code == 75
    assert (one.state, JobRun.objects.get().outcome, SEEN) == (State.DEAD, "timed_out", ["called"])


def test_atomic_commits_the_handler_s_work_and_its_success_together() -> None:
    done = atomic.enqueue("kept")
    failed = atomic.using(max_attempts=1).enqueue("rolled back", "raise")
    hooked = atomic.enqueue("hooked", "hook")

    burst()

    for one in (done, failed, hooked):
        one.refresh_from_db()
    assert (done.state, failed.state, hooked.state) == (State.SUCCEEDED, State.DEAD, State.SUCCEEDED)
    assert set(User.objects.values_list("username", flat=True)) == {"kept", "hooked"}
    assert JobRun.objects.filter(outcome="succeeded").count() == 2


def test_atomic_work_of_a_lost_lease_is_rolled_back() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite lets nobody else write during the handler's transaction")
    atomic.enqueue("stolen", "lose")

    with running() as worker:
        wait_until(lambda: worker.worker.holdings.refused)

    assert not User.objects.exists()
    assert Job.objects.get().state == State.RUNNING


def test_a_transaction_left_open_or_a_closed_connection_harms_nobody() -> None:
    leaves_transaction.enqueue()
    closes_connection.enqueue()
    good = [echo.enqueue(number) for number in range(5)]

    burst(concurrency=1)

    assert Job.objects.succeeded().count() == len(good) + 2
    assert not User.objects.exists()


def test_a_cancel_reaches_a_running_handler_within_a_heartbeat() -> None:
    one = waits.enqueue()

    with running():
        wait_until(lambda: SEEN)
        one.cancel(reason="changed my mind")
        wait_until(lambda: Job.objects.get().state == State.CANCELLED)

    run = JobRun.objects.get()
    assert run.outcome == "cancelled"


def test_progress_is_stored_while_the_handler_runs() -> None:
    waits.enqueue()

    with running():
        stored = wait_until(lambda: Job.objects.get().progress)
        GATE.set()

    assert stored == {"done": 1, "total": 2, "message": "waiting"}


def test_a_job_longer_than_its_lease_runs_once() -> None:
    ends: set[Any] = set()

    with override_settings(JOBS=FAST | {"LEASE_SECONDS": 4}), running():
        waits.enqueue()
        wait_until(lambda: SEEN)
        first = Job.objects.get().lease_expires_at
        # As many renewals as three leases of a usual heartbeat have.
        wait_until(lambda: ends.add(Job.objects.get().lease_expires_at) or len(ends) > 9)
        wait_until(lambda: clock.read("default") > first)
        GATE.set()
        wait_until(lambda: Job.objects.get().state == State.SUCCEEDED)

    assert len(SEEN) == 1
    assert JobRun.objects.count() == 1


def test_a_stop_waits_for_running_handlers_within_the_grace() -> None:
    one = waits.enqueue()

    with running(grace=20) as worker:
        wait_until(lambda: SEEN)
        worker.worker.stop()
        GATE.set()

    one.refresh_from_db()
    assert (worker.code, one.state) == (0, State.SUCCEEDED)


def test_a_stop_hands_back_what_does_not_end_in_the_grace() -> None:
    one = waits.enqueue()

    with running(grace=0.1):
        wait_until(lambda: SEEN)

    one.refresh_from_db()
    assert (one.state, one.attempt, JobRun.objects.get().outcome) == (State.PENDING, 0, "released")


@override_settings(JOBS=FAST | {"NOTIFY": False, "POLL_SECONDS": 3600})
def test_a_stop_hands_back_what_was_claimed_ahead_at_once() -> None:
    blocker = waits.enqueue()

    with running(concurrency=1, grace=20) as one:
        wait_until(lambda: SEEN)
        noop.enqueue()
        (ahead,) = claim(one.worker.name, slots=0, ahead=1)
        held = one.worker.holdings.add([ahead], claimed_at=time.monotonic(), lease_seconds=60)
        one.worker.executors.put(held)
        one.worker.stop()
        wait_until(lambda: Job.objects.pending().count() == 1)
        blocker.refresh_from_db()
        assert blocker.state == State.RUNNING
        GATE.set()


@override_settings(JOBS=FAST | {"NOTIFY": False, "POLL_SECONDS": 3600})
def test_a_slot_that_has_ended_a_long_job_does_not_wait_for_a_poll_to_get_the_next() -> None:
    for _ in range(3):
        slow.enqueue()

    with running(concurrency=1):
        wait_until(lambda: Job.objects.succeeded().count() == 3)


def test_the_worker_s_row_tells_what_it_is_and_when_it_stopped() -> None:
    with running(concurrency=3, queues=("mail", "default")):
        row = wait_until(lambda: Worker.objects.first())
        assert (row.concurrency, row.queues, row.stopped_at) == (3, ["mail", "default"], None)
        assert "noop" in row.kinds

    row.refresh_from_db()
    assert row.stopped_at is not None


def test_a_job_of_a_dead_worker_is_rescued_and_run_again() -> None:
    one = echo.enqueue("again")
    (claimed,) = claim("gone")
    silence(claimed.lease)

    with running():
        wait_until(lambda: Job.objects.get().state == State.SUCCEEDED)

    one.refresh_from_db()
    assert (one.result, one.attempt) == ("again", 2)
    assert [run.outcome for run in JobRun.objects.order_by("id")] == ["lost", "succeeded"]


def test_an_idle_worker_promotes_a_job_when_it_is_due() -> None:
    with running():
        one = noop.using(delay=0.5).enqueue()
        wait_until(lambda: Job.objects.get().state == State.SUCCEEDED)

    run = JobRun.objects.get()
    assert run.started_at >= one.run_at


def test_a_paused_queue_is_left_alone_until_it_is_resumed() -> None:
    operations.pause("default", reason="upgrade")

    with running():
        noop.enqueue()
        other = noop.using(queue="other").enqueue()
        wait_until(lambda: Job.objects.get(pk=other.pk).state == State.SUCCEEDED)
        assert Job.objects.pending().count() == 1
        operations.resume("default")
        wait_until(lambda: Job.objects.succeeded().count() == 2)


def test_a_queue_resumes_by_itself() -> None:
    operations.pause("default", resume_at=clock.read("default") + timedelta(seconds=0.5))

    with running():
        noop.enqueue()
        wait_until(lambda: Job.objects.succeeded().count() == 1)
        wait_until(lambda: Queue.objects.get(name="default").paused_at is None)


@override_settings(JOBS=FAST | {"ALLOW_UNKNOWN_KINDS": True, "UNKNOWN_KIND_GRACE_SECONDS": 0})
def test_a_kind_nobody_handles_waits_and_then_is_dead() -> None:
    one = Job.objects.enqueue("nobody.knows")

    burst()
    one.refresh_from_db()
    waiting = (one.state, one.attempt)
    one.trigger()
    burst()

    one.refresh_from_db()
    assert waiting == (State.SCHEDULED, 0)
    assert (one.state, one.error) == (State.DEAD, "No handler for kind 'nobody.knows' in any live worker.")
    assert JobRun.objects.count() == 0


def test_a_suspect_runs_though_the_worker_is_never_idle() -> None:
    suspect = noop.enqueue()
    Job.objects.update(losses=1)

    burst()

    suspect.refresh_from_db()
    assert suspect.state == State.SUCCEEDED


def test_a_row_that_the_database_refuses_is_failed_alone() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a trigger in PostgreSQL's language")
    bad = returns.enqueue("big number")
    good = [noop.enqueue() for _ in range(50)]
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF NEW.result IS NOT NULL THEN RAISE check_violation USING MESSAGE = 'no results here'; END IF; "
            "RETURN NEW; END $$; "
            "CREATE TRIGGER refuse BEFORE UPDATE ON jobs_job FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    try:
        burst()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER refuse ON jobs_job; DROP FUNCTION refuse()")

    bad.refresh_from_db()
    assert Job.objects.succeeded().count() == len(good)
    assert (bad.state, bad.error.split(":")[0]) == (State.DEAD, "OutcomeRefused")


def test_a_job_held_by_a_site_s_transaction_settles_when_it_is_let_go() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    held = waits.enqueue()

    with running() as worker:
        wait_until(lambda: SEEN)
        with transaction.atomic():
            Job.objects.select_for_update().get(pk=held.pk)
            GATE.set()
            wait_until(lambda: worker.worker.settler._busy)
            others = worker.worker.holdings
            assert len(others) == 1
        wait_until(lambda: Job.objects.get().state == State.SUCCEEDED)
