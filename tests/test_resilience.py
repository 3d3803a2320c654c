"""What must not take a worker down, stop it, or make it do a thing twice: each was once found to."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test import override_settings
from django.utils import timezone, translation

from jobs import JobContext, Retry, Snooze, clock, job, leases, maintenance, operations, signals
from jobs.exceptions import CancelRequested
from jobs.leases import Settlement
from jobs.models import Job, JobRun, Queue, Worker
from jobs.outcomes import Succeeded
from jobs.runtime import executor, record
from jobs.runtime.executor import context_of
from jobs.runtime.holdings import Holdings
from jobs.runtime.own_connection import use_own_connection
from jobs.runtime.plan import Plan
from jobs.runtime.scheduler import Scheduler
from jobs.runtime.settler import Settler
from jobs.runtime.ticker import Ticker
from jobs.runtime.watch import lose
from jobs.runtime.worker import Worker as RuntimeWorker
from jobs.states import State
from tests.jobs import echo, noop
from tests.leasing import claim, elsewhere, in_threads, make_worker, silence
from tests.pooler import needs_a_session
from tests.working import burst, running, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

# The lease outlasts whatever keeps a busy machine from a heartbeat.
FAST = {"LEASE_SECONDS": 60, "HEARTBEAT_SECONDS": 0.5, "POLL_SECONDS": 0.05}
on_postgresql = pytest.mark.skipif(
    "sqlite" in connection.settings_dict["ENGINE"], reason="SQLite locks the whole database"
)

GATE = threading.Event()
CALLS: list[Any] = []


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    GATE.clear()
    CALLS.clear()
    with override_settings(JOBS=FAST):
        yield
    GATE.set()


class OwnRetry(Retry):
    def __init__(self, code: int) -> None:
        """Forget to call the base class."""


@job("resilience.own_retry")
def own_retry() -> None:
    raise OwnRetry(503)


@job("resilience.progress", takes_context=True)
def reports(ctx: JobContext) -> None:
    CALLS.append("called")
    while not GATE.wait(0.01):
        ctx.progress(Decimal("1.5"), 10**5000)  # type: ignore[arg-type]


@job("resilience.wait", takes_context=True)
def waits(ctx: JobContext) -> None:
    CALLS.append(ctx.attempt)
    GATE.wait(30)


@job("resilience.fail_late")
def fails_late() -> None:
    GATE.wait(30)
    raise ValueError("late")


@job("resilience.again")
def again() -> None:
    CALLS.append("again")
    if len(CALLS) % 25:
        raise Snooze(0)


@job("resilience.query")
def queries() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return int(cursor.fetchone()[0])


@job("resilience.hook", atomic=True, takes_context=True)
def hooks(ctx: JobContext) -> None:
    def hook() -> None:
        GATE.wait(2)
        CALLS.append(ctx.should_stop)

    transaction.on_commit(hook)


def test_an_exception_that_breaks_its_base_class_is_a_failure_and_the_slot_goes_on() -> None:
    own_retry.using(max_attempts=1).enqueue()
    noop.enqueue()

    code = burst(concurrency=1)

    assert code == 0
    assert sorted(Job.objects.values_list("state", flat=True)) == ["dead", "succeeded"]


def test_a_row_with_impossible_backoff_is_retried_all_the_same() -> None:
    one = own_retry.enqueue()
    Job.objects.update(backoff_base=0.1, backoff_cap=-5, backoff_jitter=7)

    burst(concurrency=1)

    one.refresh_from_db()
    assert (one.attempt, one.error[:8]) == (8, "OwnRetry")


@pytest.mark.parametrize("error", [SystemExit, ValueError, KeyboardInterrupt])
def test_a_signal_receiver_that_fails_harms_nobody(error: type[BaseException]) -> None:
    def receiver(**_: Any) -> None:
        raise error("from a receiver")

    for signal in (signals.run_started, signals.run_finished, signals.worker_started):
        signal.connect(receiver)
    try:
        jobs = [echo.enqueue(number) for number in range(10)]
        code = burst()
    finally:
        for signal in (signals.run_started, signals.run_finished, signals.worker_started):
            signal.disconnect(receiver)

    assert (code, Job.objects.succeeded().count()) == (0, len(jobs))


def test_a_thread_of_the_engine_that_ends_takes_the_worker_down() -> None:
    with running(grace=0) as one:
        wait_until(lambda: Worker.objects.exists())
        one.worker.settler._stopping.set()
        one.thread.join(20)

    assert one.code == 1


def test_progress_in_odd_numbers_is_stored_as_json_has_it() -> None:
    reports.enqueue()

    with running():
        stored = wait_until(lambda: Job.objects.get().progress)
        GATE.set()

    assert stored == {"done": 1.5, "total": None, "message": ""}


@on_postgresql
def test_a_queue_that_somebody_is_just_pausing_blocks_no_claim() -> None:
    with elsewhere("INSERT INTO jobs_queue (name, paused_by, pause_reason) VALUES ('new', '', '')"), running():
        noop.using(queue="new").enqueue()
        wait_until(lambda: Job.objects.succeeded().count() == 1)
        noop.enqueue()
        wait_until(lambda: Job.objects.succeeded().count() == 2)


@on_postgresql
def test_a_locked_worker_row_stops_no_heartbeat() -> None:
    waits.enqueue()
    ends: set[Any] = set()

    with running() as one:
        wait_until(lambda: CALLS)
        with elsewhere("SELECT 1 FROM jobs_worker WHERE name = %s FOR UPDATE", one.worker.name):
            # One renewal may have been on its way, and another comes before the row.
            wait_until(lambda: ends.add(Job.objects.get().lease_expires_at) or len(ends) > 3)
        GATE.set()
        wait_until(lambda: Job.objects.succeeded().exists())

    assert (CALLS, JobRun.objects.count()) == ([1], 1)


@on_postgresql
def test_a_locked_queue_row_stops_no_rescue() -> None:
    operations.pause("other")
    Queue.objects.update(resume_at=clock.in_seconds(-5))
    echo.enqueue(1)
    (claimed,) = claim("dead worker")
    silence(claimed.lease)

    with elsewhere("SELECT 1 FROM jobs_queue FOR UPDATE"), running():
        wait_until(lambda: Job.objects.succeeded().exists())


@on_postgresql
def test_a_due_job_that_somebody_holds_is_looked_for_at_the_pace_of_the_poll() -> None:
    one = noop.using(delay=60).enqueue()
    Job.objects.update(run_at=clock.in_seconds(-1))

    class Claimer:
        def note_survey(self, seen: Any) -> None: ...

        def note_ready(self) -> None: ...

    scheduler = Scheduler(
        Claimer(),  # type: ignore[arg-type]
        on_expired_lease=lambda: None,
        using="default",
        on_outage=lambda: None,
        on_death=lambda reason: None,
    )
    with elsewhere("SELECT 1 FROM jobs_job WHERE id = %s FOR UPDATE", one.pk):
        pause = scheduler.run_once()

    assert pause >= 0.9 * FAST["POLL_SECONDS"]


@on_postgresql
def test_prune_leaves_a_job_that_a_row_of_the_site_refers_to() -> None:
    referred, _ = noop.enqueue(), noop.enqueue()
    burst()
    Job.objects.update(finished_at=clock.in_seconds(-40 * 86_400))
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE site_order (job_id bigint REFERENCES jobs_job DEFERRABLE INITIALLY DEFERRED);"
            f"INSERT INTO site_order VALUES ({referred.pk})"
        )

    try:
        pruned = dict(maintenance.prune(using="default"))
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE site_order")

    assert pruned == {"succeeded": 1}
    assert (Job.objects.get(), JobRun.objects.get().job_id) == (referred, referred.pk)


def test_a_burst_goes_on_when_a_job_came_and_failed_while_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    # A SELECT sees what was due when it began, and the job is due again a moment later.
    look = maintenance.has_work

    def long_look(*args: Any, **options: Any) -> bool:
        monkeypatch.setattr(maintenance, "has_work", look)
        before = look(*args, **options)
        own_retry.using(backoff=0.0, max_attempts=2).enqueue()
        wait_until(JobRun.objects.exists)
        wait_until(lambda: not len(worker.holdings))
        return before

    monkeypatch.setattr(maintenance, "has_work", long_look)
    worker = RuntimeWorker(Plan(burst=True, concurrency=1))

    with override_settings(JOBS=FAST | {"POLL_SECONDS": 1.0}):
        in_threads(worker.run)

    assert Job.objects.get().state == State.DEAD


def test_a_burst_goes_on_when_a_job_came_before_it_looked_and_failed_while_it_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look, length = maintenance.has_work, Holdings.__len__
    worker = RuntimeWorker(Plan(burst=True, concurrency=1))

    def outdated_length(holdings: Holdings) -> int:
        seen = length(holdings)
        if not Job.objects.exists():
            wait_until(lambda: worker.scheduler.is_idle)
            fails_late.using(backoff=0.0, max_attempts=2).enqueue()
            wait_until(lambda: worker.holdings.begun)
        return seen

    def long_look(*_: Any, **__: Any) -> bool:
        monkeypatch.setattr(maintenance, "has_work", look)
        GATE.set()
        wait_until(lambda: JobRun.objects.exists() and not length(worker.holdings))
        # It runs no more, and was not due yet when the question was asked.
        return False

    monkeypatch.setattr(Holdings, "__len__", outdated_length)
    monkeypatch.setattr(maintenance, "has_work", long_look)

    with override_settings(JOBS=FAST | {"POLL_SECONDS": 1.0}):
        in_threads(worker.run)

    assert Job.objects.get().state == State.DEAD


def test_a_burst_does_not_end_between_two_states_of_a_job() -> None:
    for _ in range(3):
        again.enqueue()

    with override_settings(JOBS=FAST | {"POLL_SECONDS": 0.01}):
        burst(concurrency=1)

    assert Job.objects.exclude(state=State.SUCCEEDED).count() == 0


def test_a_returned_job_shares_no_metadata_with_the_next() -> None:
    noop.enqueue().metadata["secret"] = 1

    second, third = noop.enqueue(), noop.using(delay=60).enqueue()

    assert (second.metadata, third.metadata) == ({}, {})
    assert set(Job.objects.filter(metadata={}).values_list("pk", flat=True)) >= {second.pk, third.pk}


def test_a_run_that_a_rescuer_wrote_does_not_count_as_settled() -> None:
    noop.enqueue()
    (claimed,) = claim()
    silence(claimed.lease)
    leases.rescue(using="default")

    assert not leases.is_settled(claimed.lease, using="default")


@on_postgresql
def test_a_batch_halved_and_then_cut_off_refuses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [noop.enqueue() for _ in range(4)]
    holdings = Holdings()
    held = holdings.add(claim(), claimed_at=0.0, lease_seconds=1e9)
    settler = Settler(holdings, worker="w1", using="default", on_outage=lambda: None, on_death=lambda reason: None)
    for number, one in enumerate(held):
        settler.submit(one, Succeeded('{"broken": ' if number == 3 else None))
    whole = leases.settle
    turns = iter(range(100))

    def settle(settlements: list[Settlement], *, using: str) -> Any:
        # Whole batch, first half, and then, before the second, the connection goes.
        if next(turns) == 2:
            raise OperationalError("server closed the connection unexpectedly")
        return whole(settlements, using=using)

    monkeypatch.setattr(leases, "settle", settle)
    with pytest.raises(OperationalError):
        settler.run_once()
    settler.run_once()

    assert (holdings.refused, len(holdings)) == (0, 0)
    assert sorted(Job.objects.values_list("state", flat=True)) == ["dead", *["succeeded"] * (len(jobs) - 1)]


@override_settings(JOBS=FAST | {"ALLOW_UNKNOWN_KINDS": True})
def test_a_known_kind_does_not_wait_behind_thousands_of_unknown_ones() -> None:
    from jobs import JobSpec

    Job.objects.enqueue_many([JobSpec("nobody.handles") for _ in range(5_000)])
    known = noop.enqueue()

    with running():
        wait_until(lambda: Job.objects.get(pk=known.pk).state == State.SUCCEEDED)

    assert Job.objects.filter(kind="nobody.handles", attempt=0).count() == 5_000


@on_postgresql
@needs_a_session
def test_after_an_outage_no_handler_gets_a_dead_connection() -> None:
    with running(concurrency=2) as one:
        for _ in range(4):
            queries.using(max_attempts=1).enqueue()
        wait_until(lambda: Job.objects.succeeded().count() == 4)
        outages = one.worker.executors._epoch
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        wait_until(lambda: one.worker.executors._epoch > outages)
        for _ in range(4):
            queries.using(max_attempts=1).enqueue()
        wait_until(lambda: Job.objects.filter(finished_at__isnull=False).count() == 8)

    assert Job.objects.succeeded().count() == 8


def test_a_hook_that_outlasts_a_heartbeat_is_not_told_that_its_lease_is_lost() -> None:
    lost: list[Any] = []

    def receiver(**facts: Any) -> None:
        lost.append(facts)

    signals.lease_lost.connect(receiver)
    hooks.enqueue()
    try:
        burst()
    finally:
        signals.lease_lost.disconnect(receiver)

    assert (CALLS, lost, Job.objects.get().state) == ([False], [], State.SUCCEEDED)


@on_postgresql
def test_atomic_runs_at_read_committed_whatever_the_session_says() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER DATABASE "
            + connection.ops.quote_name(connection.settings_dict["NAME"])
            + " SET default_transaction_isolation = 'repeatable read'"
        )
    try:
        hooks.enqueue()
        GATE.set()
        burst()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(
                "ALTER DATABASE "
                + connection.ops.quote_name(connection.settings_dict["NAME"])
                + " RESET default_transaction_isolation"
            )

    assert Job.objects.get().state == State.SUCCEEDED


def test_stranded_jobs_passed_over_do_not_make_the_claimer_wait_for_a_poll() -> None:
    for _ in range(3):
        noop.enqueue()
    Job.objects.update(stranded=1)
    for _ in range(3):
        noop.enqueue()

    now, later = leases.claim("w1", slots=0, ahead=6, lease_seconds=30, using="default")

    assert (len(now), len(later)) == (0, 3)


@pytest.mark.parametrize(("heartbeat", "longest"), [(0.5, 0.25), (30, 5.0)])
def test_who_survives_an_outage_is_back_before_others_may_rescue(heartbeat: float, longest: float) -> None:
    ticker = Ticker(using="default", on_outage=lambda: None, on_death=lambda reason: None)

    with override_settings(JOBS={"HEARTBEAT_SECONDS": heartbeat, "LEASE_SECONDS": 3 * heartbeat + 1}):
        pauses = [ticker._backoff(turns) for turns in range(1, 2_000)]

    assert longest / 2 <= max(pauses) <= longest


@job("resilience.exit_in_a_task")
async def exits_in_a_task() -> None:
    async def inner() -> None:
        raise SystemExit(1)

    await asyncio.create_task(inner())


@job("resilience.stop_the_loop")
async def stops_the_loop() -> None:
    asyncio.get_running_loop().stop()


@job("resilience.async")
async def is_async() -> str:
    await asyncio.sleep(0.01)
    return "done"


@pytest.mark.parametrize("culprit", [exits_in_a_task, stops_the_loop])
def test_nothing_that_a_handler_does_to_the_event_loop_keeps_others_from_it(culprit: Any) -> None:
    culprit.using(max_attempts=1, priority=100).enqueue()
    others = [is_async.enqueue() for _ in range(3)]

    code = burst(concurrency=2)

    assert code == 0
    assert [Job.objects.get(pk=one.pk).result for one in others] == ["done"] * 3


@job("resilience.activate")
def activates() -> None:
    translation.activate("de")
    timezone.activate("Asia/Tokyo")


@job("resilience.language")
def language() -> list[Any]:
    return [translation.get_language(), timezone.get_current_timezone_name()]


def test_what_a_handler_activates_stays_with_it() -> None:
    before = language.enqueue()
    activates.enqueue()
    after = language.enqueue()

    burst(concurrency=1)

    assert Job.objects.get(pk=after.pk).result == Job.objects.get(pk=before.pk).result == ["en-us", "UTC"]


def test_a_connection_that_cannot_be_tidied_costs_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("a backend of the site's own")

    monkeypatch.setattr(executor, "tidy_handler_connections", fail)
    one = echo.enqueue(1)

    burst(concurrency=1)

    one.refresh_from_db()
    assert (one.state, one.result) == (State.SUCCEEDED, 1)


@on_postgresql
def test_two_outages_in_a_row_lose_count_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first takes the answer of a COMMIT, the second that to the question whether it was one."""
    jobs = [noop.enqueue() for _ in range(3)]
    holdings = Holdings()
    held = holdings.add(claim(), claimed_at=0.0, lease_seconds=1e9)
    settler = Settler(holdings, worker="w1", using="default", on_outage=lambda: None, on_death=lambda reason: None)
    settle, is_settled = leases.settle, leases.is_settled

    def cut_off_after(whole: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            whole(*args, **options)
            raise OperationalError("server closed the connection unexpectedly")

        return call

    for one in held:
        settler.submit(one, Succeeded(None))
    for name, whole in (("settle", settle), ("is_settled", is_settled)):
        with monkeypatch.context() as patch:
            patch.setattr(leases, name, cut_off_after(whole))
            with pytest.raises(OperationalError):
                settler.run_once()
    settler.run_once()

    assert (holdings.refused, len(holdings), Job.objects.succeeded().count()) == (0, 0, len(jobs))


@job("resilience.obey", takes_context=True, timeout=60)
def obeys(ctx: JobContext) -> None:
    while not GATE.wait(0.01):
        if ctx.should_stop:
            CALLS.append(type(ctx.stop_reason).__name__)
            break


@on_postgresql
@override_settings(JOBS=FAST | {"HEARTBEAT_SECONDS": 0.2, "STOP_GRACE_SECONDS": 60})
def test_a_handler_hears_of_its_timeout_while_the_database_keeps_the_heartbeat_waiting() -> None:
    obeys.using(max_attempts=1).enqueue()

    with running() as one:
        (held,) = wait_until(one.worker.holdings.snapshot)
        context = wait_until(lambda: held.context)
        with elsewhere("LOCK TABLE jobs_job IN ACCESS EXCLUSIVE MODE"):
            context._deadline = time.monotonic()
            wait_until(lambda: CALLS)

    assert CALLS == ["TimedOut"]


def test_a_shutdown_that_hands_a_job_back_keeps_a_slot_from_starting_it() -> None:
    noop.enqueue()
    holdings = Holdings()
    (held,) = holdings.add(claim(), claimed_at=0.0, lease_seconds=1e9)

    holdings.close()

    assert not holdings.start(held, context_of(held))
    assert (held.context, holdings.begun, holdings.running) == (None, 0, 0)


def test_a_job_that_is_being_handed_back_is_not_started() -> None:
    noop.enqueue()
    holdings = Holdings()
    (held,) = holdings.add(claim(), claimed_at=0.0, lease_seconds=1e9)
    held.is_settling = True

    assert not holdings.start(held, context_of(held))


class Failing(Ticker):
    """Fails with each of ``errors`` in turn, and then no more."""

    name = "failing"

    def __init__(self, *errors: Exception, **ticker: Any) -> None:
        super().__init__(using="default", on_death=lambda reason: None, **ticker)
        self._errors = list(errors)

    def run_once(self) -> float:
        if self._errors:
            raise self._errors.pop(0)
        return 0.0


def refused(sqlstate: str) -> OperationalError:
    """An error as the backend wraps it, with the cause that knows its SQLSTATE."""
    error, cause = OperationalError("refused"), Exception("refused")
    cause.sqlstate = sqlstate  # type: ignore[attr-defined]
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("sqlstate", "outages"),
    [("", 2), ("57P01", 2), ("53300", 2), ("08006", 2), ("25006", 2), ("57014", 0), ("55P03", 0), ("40P01", 0)],
)
def test_an_outage_is_told_when_it_begins_and_ends_and_a_failed_statement_is_none(sqlstate: str, outages: int) -> None:
    """Whoever is told rescues nobody for a heartbeat, so that one part's endless trouble must not be told for ever."""
    told: list[None] = []
    ticker = Failing(*(refused(sqlstate) for _ in range(5)), on_outage=lambda: told.append(None))

    for _ in range(5):
        ticker._turn()
    assert len(told) == outages / 2
    ticker._turn()
    ticker._turn()

    assert len(told) == outages


def test_a_renewal_that_fails_counts_as_an_outage_whatever_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise refused("57014")

    worker = RuntimeWorker(Plan())
    noop.enqueue()
    worker.holdings.add(claim(), claimed_at=time.monotonic(), lease_seconds=30)
    monkeypatch.setattr(leases, "renew", fail)
    worker.heartbeat.beat_now()

    worker.heartbeat._turn()

    assert worker._find_last_outage() > worker._started


def test_a_worker_that_had_to_wait_for_the_database_gives_others_a_heartbeat_to_renew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, waits = record.clock_skew, []

    def away_at_first(using: str) -> float:
        if len(waits) < 2:
            raise OperationalError("the database system is starting up")
        return real(using)

    monkeypatch.setattr(record, "clock_skew", away_at_first)
    worker = RuntimeWorker(Plan(burst=True), on_wait=lambda: waits.append(worker._find_last_outage()))
    in_threads(worker.run)

    assert len(waits) == 3
    assert waits == sorted(waits)
    # Later still, if this process itself has stood still since.
    assert worker._started < waits[-1] <= worker._find_last_outage()


def test_a_freeze_is_found_by_whoever_wakes_first() -> None:
    worker = RuntimeWorker(Plan())
    worker.watch._last_look -= 3600

    assert time.monotonic() - worker._find_last_outage() < 10


def test_a_beat_asked_for_during_another_comes_right_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancel may be announced when its row has just been renewed."""
    worker = RuntimeWorker(Plan())
    noop.enqueue()
    worker.holdings.add(claim(), claimed_at=time.monotonic(), lease_seconds=30)
    whole = leases.renew

    def renew(*args: Any, **options: Any) -> Any:
        renewals = whole(*args, **options)
        worker.heartbeat.beat_now()
        return renewals

    monkeypatch.setattr(leases, "renew", renew)
    worker.heartbeat.beat_now()

    assert worker.heartbeat.run_once() == 0


@override_settings(JOBS={"LEASE_SECONDS": 300, "HEARTBEAT_SECONDS": 100})
def test_a_cancel_that_is_announced_before_its_claim_has_come_back_is_seen_at_the_next_look() -> None:
    worker = RuntimeWorker(Plan())
    one, sent = noop.enqueue(), time.monotonic()
    claimed = claim()
    one.cancel()

    worker.heartbeat.beat_now()
    worker.heartbeat.run_once()
    (held,) = worker.holdings.add(claimed, claimed_at=sent, lease_seconds=300)
    worker.heartbeat.run_once()

    assert isinstance(held.stop_reason, CancelRequested)


def test_a_job_announced_during_a_claim_is_claimed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = RuntimeWorker(Plan())
    whole = leases.claim

    def claim_too_early(*args: Any, **options: Any) -> Any:
        given = whole(*args, **options)
        noop.enqueue()
        worker.claimer.note_ready()
        return given

    monkeypatch.setattr(leases, "claim", claim_too_early)
    worker.claimer.run_once()
    monkeypatch.setattr(leases, "claim", whole)
    worker.claimer.run_once()

    assert len(worker.holdings) == 1


def test_a_worker_whose_row_was_deleted_writes_it_anew() -> None:
    with running() as one:
        wait_until(lambda: Worker.objects.exists())
        Worker.objects.all().delete()
        row = wait_until(lambda: Worker.objects.first())

    assert row.name == one.worker.name


@override_settings(JOBS=FAST | {"LEASE_SECONDS": 3_000, "RETENTION": {"workers": 0}})
def test_prune_leaves_the_row_of_a_worker_that_may_be_at_work() -> None:
    make_worker("live", heartbeat_at=clock.in_seconds(-2_000))
    make_worker("gone", heartbeat_at=clock.in_seconds(-4_000))

    dict(maintenance.prune(using="default"))

    assert [worker.name for worker in Worker.objects.all()] == ["live"]


def test_a_job_cancelled_before_its_handler_was_called_is_not_started() -> None:
    worker = RuntimeWorker(Plan())
    one = again.enqueue()
    (held,) = worker.holdings.add(claim(), claimed_at=time.monotonic(), lease_seconds=30)
    one.cancel()

    worker.heartbeat.beat_now()
    worker.heartbeat.run_once()
    worker.executors._handle(held)
    worker.settler.run_once()

    one.refresh_from_db()
    assert (one.state, one.attempt, CALLS) == (State.CANCELLED, 0, [])


def test_a_cancel_that_comes_just_before_the_call_reaches_the_handler() -> None:
    noop.enqueue()
    holdings = Holdings()
    (held,) = holdings.add(claim(), claimed_at=0.0, lease_seconds=1e9)
    context = context_of(held)

    held.stop(CancelRequested())
    holdings.start(held, context)

    assert isinstance(context.stop_reason, CancelRequested)


@on_postgresql
@override_settings(JOBS={"LEASE_SECONDS": 86_400})
def test_a_long_lease_is_no_reason_to_wait_for_hours_for_a_server_that_has_vanished() -> None:
    def options() -> Any:
        use_own_connection("default")
        return connections["default"].settings_dict["OPTIONS"]

    (chosen,) = in_threads(options)

    assert (chosen["connect_timeout"], chosen["tcp_user_timeout"]) == (30, 30_000)


@override_settings(JOBS={"LEASE_SECONDS": 4, "HEARTBEAT_SECONDS": 1, "GRACE_SECONDS": 0})
def test_a_stop_without_a_database_does_not_storm_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []

    def away(*_: Any, **__: Any) -> Any:
        tries.append(time.monotonic())
        raise OperationalError("connection refused")

    obeys.enqueue()
    with running() as one:
        wait_until(lambda: one.worker.holdings.running)
        monkeypatch.setattr(leases, "settle", away)
        one.end()
        monkeypatch.undo()

    # For five seconds or a little more, twice a second, and once more for each backoff that ends in between.
    assert 5 <= len(tries) <= 60


def test_a_lost_lease_is_told_once() -> None:
    told: list[Any] = []
    noop.enqueue()
    (held,) = Holdings().add(claim(), claimed_at=0.0, lease_seconds=1)

    def hear(**facts: Any) -> None:
        told.append(facts["job_id"])

    signals.lease_lost.connect(hear)
    for _ in range(2):
        lose(held, worker="w1")
    signals.lease_lost.disconnect(hear)

    assert told == [held.lease.job_id]


class Broken(logging.Handler):
    """A log handler of the site's, such as one that writes to a database that is away."""

    def emit(self, record: logging.LogRecord) -> None:
        CALLS.append(record.module)
        raise OperationalError("the log is away too")


@pytest.fixture
def _broken_log() -> Iterator[None]:
    handler = Broken()
    logging.getLogger("jobs.runtime").addHandler(handler)
    yield
    logging.getLogger("jobs.runtime").removeHandler(handler)


@pytest.mark.usefixtures("_broken_log")
def test_a_log_handler_that_fails_ends_no_thread_of_the_engine() -> None:
    ticker = Failing(refused(""), ValueError("broken"), on_outage=lambda: None)

    for _ in range(3):
        ticker._turn()

    # Named as the place that had something to say.
    assert CALLS == ["ticker"] * 3
