"""Several worker processes under one parent: replaced when they die, stopped together."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from jobs.models import Job, JobRun, Worker
from jobs.runtime import child as child_module
from jobs.runtime.child import Child
from jobs.runtime.link import stop_without_supervisor, tell_ready
from jobs.runtime.supervisor import Supervisor
from jobs.states import State
from tests.jobs import deaf, echo, kill_worker, noop, stay, wait, wait_for
from tests.models import Mark
from tests.processes import PATIENT, WorkerProcess
from tests.working import wait_until

pytestmark = pytest.mark.once

Start = Callable[..., WorkerProcess]


@pytest.fixture
def start(database_url: str) -> Start:
    return lambda *arguments, **settings: WorkerProcess(database_url, *arguments, settings=PATIENT | settings)


def live() -> list[Worker]:
    return list(Worker.objects.filter(stopped_at__isnull=True).order_by("pk"))


def is_gone(pid: int) -> bool:
    """Whether no process of that id is left, a zombie counting as gone."""
    try:
        return "zombie" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_processes_share_the_work_and_stop_together(start: Start, tmp_path: Path) -> None:
    with start("--processes", "2", "--concurrency", "2") as supervisor:
        jobs = [wait_for.enqueue(f"{tmp_path}/shared") for _ in range(4)]
        # Too many for one of them.
        wait_until(lambda: Job.objects.running().count() == len(jobs))
        (tmp_path / "shared").touch()
        wait_until(lambda: Job.objects.succeeded().count() == len(jobs))
        pids = {worker.pid for worker in live()}
        supervisor.send(signal.SIGTERM)
        code = supervisor.wait()

    assert (code, len(pids)) == (0, 2)
    assert supervisor.pid not in pids
    assert {job.result for job in Job.objects.all()} == pids
    assert live() == []


def test_a_burst_of_processes_ends_when_all_is_done(start: Start) -> None:
    for number in range(100):
        echo.enqueue(number)

    with start("--processes", "2", "--burst") as supervisor:
        code = supervisor.wait()

    assert (code, Job.objects.succeeded().count()) == (0, 100)


def test_a_process_that_dies_is_replaced(start: Start) -> None:
    poison = kill_worker.enqueue(1)

    with start("--processes", "1", "--reload", LEASE_SECONDS=2) as supervisor:
        wait_until(lambda: Job.objects.get(pk=poison.pk).state == State.SUCCEEDED, seconds=30)
        supervisor.send(signal.SIGTERM)
        supervisor.wait()

    assert [run.outcome for run in JobRun.objects.order_by("pk")] == ["lost", "succeeded"]


def test_a_process_is_replaced_after_max_jobs(start: Start) -> None:
    for _ in range(4):
        noop.enqueue()

    with start("--processes", "2", "--concurrency", "1", "--max-jobs", "1") as supervisor:
        wait_until(lambda: Job.objects.succeeded().count() == 4, seconds=40)
        supervisor.send(signal.SIGTERM)
        supervisor.wait()

    assert len(set(JobRun.objects.values_list("worker", flat=True))) == 4


def test_a_burst_replaces_processes_until_nothing_is_due(start: Start) -> None:
    jobs = [noop.enqueue() for _ in range(5)]

    with start("--processes", "2", "--burst", "--concurrency", "1", "--max-jobs", "2") as supervisor:
        code = supervisor.wait(60)

    assert (code, Job.objects.succeeded().count()) == (0, len(jobs))


def test_a_burst_whose_processes_cannot_start_ends_with_1(tmp_path: Path) -> None:
    with WorkerProcess(f"sqlite:///{tmp_path}/empty.sqlite3", "--processes", "2", "--burst") as supervisor:
        code = supervisor.wait()

    assert code == 1


@contextmanager
def filled(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Iterator[Child]:
    """A place whose processes run this instead of a worker."""
    monkeypatch.setattr(child_module, "get_child_arguments", lambda: list(arguments))
    child = Child(1)
    try:
        yield child
    finally:
        child.send(signal.SIGKILL)
        wait_until(lambda: child.look() or not child.is_alive)


def test_a_place_is_filled_again_however_often_its_process_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(monkeypatch, "false") as child:
        child._failures = 5_000
        child.start()
        wait_until(lambda: child.look() or not child.is_alive)

        assert child.code == 1
        assert 0 < child._start_after - time.monotonic() <= 30


def test_a_process_that_cannot_even_be_started_is_tried_again_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with filled(monkeypatch, "/nowhere/python") as child:
        child._failures = 10
        child.start()

        assert (child.is_alive, child.code, child.may_start) == (False, 1, False)
        assert "worker process not started number=1" in caplog.text


def test_only_a_process_after_one_that_worked_counts_as_its_replacement(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One that never got so far has not brought the schedules that code declares into the database."""
    seen = tmp_path / "seen"
    with filled(monkeypatch, "sh", "-c", f"echo ${{JOBS_REPLACES_WORKER:-0}} >> {seen}") as child:
        for was_ready in (False, False, True, True):
            child._has_predecessor = was_ready
            child.start()
            wait_until(lambda: child.look() or not child.is_alive)

    assert seen.read_text().split() == ["0", "0", "1", "1"]


SAYS = "import time; from jobs.runtime import link; link.tell_{}(link.link_to_supervisor()); time.sleep(60)"


@pytest.mark.parametrize("word", ["waiting", "ready"])
def test_a_process_that_waits_for_the_database_is_not_taken_for_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, word: str
) -> None:
    with filled(monkeypatch, sys.executable, "-c", SAYS.format(word)) as child:
        child.start()
        child._ready_by = 0.0
        child.hear()
        child.look()

        assert child.was_ready == (word == "ready")
        assert "killed" not in caplog.text


def test_a_process_that_was_ready_and_ended_before_its_word_was_heard_counts_as_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a burst would give its place up, as one where no process could start."""
    ends_at_once = SAYS.format("ready").replace("time.sleep(60)", "raise SystemExit(3)")
    with filled(monkeypatch, sys.executable, "-c", ends_at_once) as child:
        child.start()
        assert child.process is not None
        child.process.wait()
        child.look()

        assert (child.is_alive, child.code, child.was_ready) == (False, 3, True)


def test_a_process_that_hangs_before_it_is_ready_is_killed_and_replaced(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with filled(monkeypatch, "sleep", "60") as child:
        child.start()
        child._ready_by = 0.0
        wait_until(lambda: child.look() or not child.is_alive)

        assert child.code == -signal.SIGKILL
        assert "not ready in 60.0 s, killed number=1" in caplog.text


def test_a_stop_that_comes_while_a_process_is_being_started_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def arguments() -> list[str]:
        os.kill(os.getpid(), signal.SIGTERM)
        return ["sleep", "60"]

    monkeypatch.setattr(child_module, "get_child_arguments", arguments)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    begun = time.monotonic()
    try:
        code = Supervisor(processes=2, burst=False, grace=0).run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert code == 0
    assert time.monotonic() - begun < 10


def test_workers_stop_when_their_supervisor_is_killed(start: Start) -> None:
    with start("--processes", "2") as supervisor:
        workers = wait_until(lambda: len(live()) == 2 and live())
        supervisor.send(signal.SIGKILL)
        supervisor.wait()
        wait_until(lambda: all(is_gone(worker.pid) for worker in workers))

    assert live() == []


def test_a_worker_stops_though_its_supervisor_was_killed_before_it_heard_that_the_worker_is_ready() -> None:
    reasons: list[str] = []
    supervisor, link = socket.socketpair()
    tell_ready(link)
    # With the word unread, which makes this a reset and not an end.
    supervisor.close()

    stop_without_supervisor(link, reasons.append)
    tell_ready(link)
    link.close()

    assert reasons == ["the supervisor is gone"]


def test_a_second_signal_kills_all_at_once(start: Start) -> None:
    job = stay.enqueue(60)

    with start("--processes", "2", "--grace", "60") as supervisor:
        wait_until(lambda: Job.objects.get(pk=job.pk).state == State.RUNNING)
        pids = [worker.pid for worker in live()]
        supervisor.send(signal.SIGINT)
        wait_until(lambda: Worker.objects.filter(draining_at__isnull=False).exists())
        supervisor.send(signal.SIGINT)
        code = supervisor.wait()
        wait_until(lambda: all(is_gone(pid) for pid in pids))

    assert code == 128 + signal.SIGINT


def test_a_drained_worker_is_not_replaced(start: Start) -> None:
    from jobs import operations

    with start("--processes", "2") as supervisor:
        first, second = wait_until(lambda: len(live()) == 2 and live())
        assert operations.drain(first.name, reason="bad host")
        wait_until(lambda: is_gone(first.pid))
        noop.enqueue()
        wait_until(lambda: Job.objects.succeeded().count() == 1)
        assert [worker.name for worker in live()] == [second.name]
        supervisor.send(signal.SIGTERM)
        supervisor.wait()

    assert Worker.objects.count() == 2
    assert not operations.drain(first.name)


def test_code_that_changes_restarts_the_worker(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "reloaded_by_the_test.py"
    module.write_text("VALUE = 1\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("JOBS_TEST_IMPORT", module.stem)

    with start("--reload") as supervisor:
        (before,) = wait_until(live)
        moments = itertools.count(1)

        def is_restarted() -> list[Worker]:
            # Again and again, since the first change may come before the watch has begun.
            os.utime(module, (moment := next(moments), moment))
            return [worker for worker in live() if worker.name != before.name]

        after = wait_until(is_restarted, seconds=30)
        supervisor.send(signal.SIGTERM)
        supervisor.wait()

    assert len(after) == 1


def test_a_signal_that_also_reaches_the_workers_directly_is_one_stop_and_not_two(start: Start, tmp_path: Path) -> None:
    """As systemd does it unless told otherwise: SIGTERM to every process of the unit."""
    job = wait_for.enqueue(f"{tmp_path}/stopping", seconds=0.5)

    with start("--processes", "2") as supervisor:
        wait_until(lambda: Job.objects.get(pk=job.pk).state == State.RUNNING)
        at_work = Worker.objects.get(name=Job.objects.get(pk=job.pk).lease_owner)
        pids = [worker.pid for worker in live()]
        for pid in (*pids, supervisor.pid, *pids):
            # One that has nothing to do may have ended meanwhile.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        wait_until(lambda: Worker.objects.get(pk=at_work.pk).draining_at)
        (tmp_path / "stopping").touch()
        code = supervisor.wait()

    job.refresh_from_db()
    assert (code, job.state) == (0, State.SUCCEEDED)


@pytest.mark.long
def test_a_handler_deaf_to_its_timeout_costs_its_process_and_nothing_else(start: Start) -> None:
    # Two slots of one process, one of the other.
    waiting = [wait.enqueue(120) for _ in range(3)]
    settings = {"STOP_GRACE_SECONDS": 0.2}

    with start(
        "--processes", "2", "--concurrency", "2", "--grace", "0.2", "--verbosity", "2", **settings
    ) as supervisor:
        wait_until(lambda: len(live()) == 2 and Job.objects.running().count() == len(waiting))
        job = deaf.enqueue(120)
        old = wait_until(
            lambda: Mark.objects.exists() and Worker.objects.get(name=Job.objects.get(pk=job.pk).lease_owner)
        )
        beside = Job.objects.exclude(pk=job.pk).get(lease_owner=old.name)
        wait_until(lambda: Job.objects.get(pk=job.pk).state == State.SUCCEEDED, seconds=30)
        wait_until(lambda: Job.objects.running().count() == len(waiting))
        after = [echo.enqueue(number) for number in range(20)]
        wait_until(lambda: Job.objects.succeeded().filter(kind=echo.kind).count() == len(after))
        fresh = Worker.objects.latest("pk")

        assert is_gone(old.pid)
        assert set(Job.objects.running().values_list("pk", flat=True)) == {one.pk for one in waiting}
        assert Job.objects.running().filter(claim_no=1).count() == 2
        assert f"pid={old.pid} code=75" in supervisor.output()
        supervisor.send(signal.SIGTERM)
        supervisor.wait()

    assert [run.outcome for run in JobRun.objects.filter(job=job).order_by("pk")] == ["timed_out", "succeeded"]
    assert JobRun.objects.filter(job=beside).earliest("pk").outcome == "released"
    assert set(JobRun.objects.filter(job__kind=echo.kind).values_list("worker", flat=True)) == {fresh.name}
    first, second = Mark.objects.order_by("pk")
    assert first.ended_at < second.began_at


@pytest.mark.long
def test_a_handler_deaf_to_its_timeout_has_ended_before_another_worker_runs_its_job(start: Start) -> None:
    with start(STOP_GRACE_SECONDS=0.2) as first:
        first.wait_until_live()
        job = deaf.enqueue(120)
        wait_until(lambda: Mark.objects.exists())
        with start() as second:
            second.wait_until_live()
            code = first.wait()
            wait_until(lambda: Job.objects.get(pk=job.pk).state == State.SUCCEEDED)

    once, again = Mark.objects.order_by("pk")
    assert (code, once.pid, again.pid) == (75, first.pid, second.pid)
    assert once.ended_at < again.began_at
