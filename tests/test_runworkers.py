"""The command as a process: signals, exit codes, deaths."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jobs import clock, operations
from jobs.models import Job, JobRun, Worker
from jobs.states import State
from tests.jobs import deaf, echo, fork, kill_worker, linger, noop, stay, wait, wait_for
from tests.models import Mark
from tests.processes import PATIENT, WorkerProcess
from tests.working import wait_until

Start = Callable[..., WorkerProcess]


@pytest.fixture
def start(database_url: str) -> Start:
    return lambda *arguments, **settings: WorkerProcess(database_url, *arguments, settings=PATIENT | settings)


@pytest.fixture
def in_a_terminal() -> Iterator[None]:
    """Undo what nohup does, under which the tests themselves may run."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def is_running(job: Job) -> Callable[[], bool]:
    return lambda: Job.objects.get(pk=job.pk).state == State.RUNNING


def is_stopping() -> bool:
    return Worker.objects.filter(draining_at__isnull=False).exists()


def test_burst_runs_what_is_due_and_exits_with_0(start: Start) -> None:
    jobs = [echo.enqueue(number) for number in range(50)]
    later = noop.using(delay=3600).enqueue()

    with start("--burst", "--concurrency", "2") as worker:
        code = worker.wait()

    assert code == 0
    assert [Job.objects.get(pk=job.pk).result for job in jobs] == list(range(50))
    assert Job.objects.get(pk=later.pk).state == State.SCHEDULED
    assert Worker.objects.get().stopped_at is not None


def test_queues_are_the_only_ones_served(start: Start) -> None:
    mail, bulk, other = (noop.using(queue=queue).enqueue() for queue in ("mail", "bulk", "other"))

    with start("--burst", "--queues", "mail,bulk") as worker:
        worker.wait()

    assert {Job.objects.get(pk=job.pk).state for job in (mail, bulk)} == {State.SUCCEEDED}
    assert Job.objects.get(pk=other.pk).state == State.PENDING


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.usefixtures("in_a_terminal")
def test_a_signal_lets_a_running_job_finish(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    job = wait_for.enqueue(f"{tmp_path}/stopping", seconds=0.5)

    with start() as worker:
        wait_until(is_running(job))
        worker.send(number)
        wait_until(is_stopping)
        (tmp_path / "stopping").touch()
        code = worker.wait()

    job.refresh_from_db()
    assert (code, job.state, job.result) == (0, State.SUCCEEDED, worker.pid)


@pytest.mark.once
def test_what_nohup_has_started_survives_the_end_of_its_terminal(database_url: str) -> None:
    with WorkerProcess(database_url, before=["nohup"]) as worker:
        worker.wait_until_live()
        worker.send(signal.SIGHUP)
        job = echo.enqueue(1)
        wait_until(lambda: Job.objects.get(pk=job.pk).state == State.SUCCEEDED)
        worker.send(signal.SIGTERM)
        code = worker.wait()

    assert code == 0


@pytest.mark.once
def test_a_process_that_is_to_be_replaced_finishes_what_it_runs_however_long_that_takes(start: Start) -> None:
    job = wait.enqueue(1.5)
    rest = noop.enqueue()

    with start("--max-jobs", "1", "--concurrency", "1", "--grace", "0") as worker:
        code = worker.wait()

    assert (code, Job.objects.get(pk=job.pk).state) == (0, State.SUCCEEDED)
    assert (Job.objects.get(pk=rest.pk).state, Job.objects.get(pk=rest.pk).attempt) == (State.PENDING, 0)


@pytest.mark.once
def test_a_drained_process_finishes_what_it_runs_however_long_that_takes(start: Start, tmp_path: Path) -> None:
    job = wait_for.enqueue(f"{tmp_path}/stopping", seconds=1.5)

    with start("--grace", "0") as worker:
        wait_until(is_running(job))
        operations.drain(Worker.objects.get().name)
        wait_until(is_stopping)
        (tmp_path / "stopping").touch()
        code = worker.wait()

    assert (code, Job.objects.get(pk=job.pk).state) == (76, State.SUCCEEDED)


@pytest.mark.once
@pytest.mark.parametrize(
    ("grace", "seconds", "outcome"), [("20", 1.5, "succeeded"), ("0", 60, "released")], ids=["in time", "too long"]
)
def test_the_first_signal_to_a_process_that_is_to_be_replaced_begins_the_grace(
    start: Start, grace: str, seconds: float, outcome: str
) -> None:
    job = wait.enqueue(seconds)

    with start("--max-jobs", "1", "--grace", grace) as worker:
        wait_until(is_stopping)
        worker.send(signal.SIGTERM)
        code = worker.wait()

    assert code == 0
    assert [run.outcome for run in JobRun.objects.filter(job=job)] == [outcome]


@pytest.mark.once
def test_a_thread_that_a_handler_has_left_behind_does_not_keep_the_process(start: Start) -> None:
    linger.enqueue(60)

    with start("--burst") as worker:
        code = worker.wait()

    assert (code, Job.objects.get().state) == (0, State.SUCCEEDED)


@pytest.mark.once
def test_a_child_that_a_handler_forked_ends_where_the_handler_does(start: Start) -> None:
    jobs = [fork.enqueue(3), *(echo.enqueue(number) for number in range(5))]

    with start("--burst", "--concurrency", "1") as worker:
        code = worker.wait()

    assert code == 0
    assert [Job.objects.get(pk=job.pk).result for job in jobs] == [3, 0, 1, 2, 3, 4]
    assert JobRun.objects.count() == len(jobs)


def test_an_idle_worker_stops_at_once(start: Start) -> None:
    with start("--grace", "3600") as worker:
        worker.wait_until_live()
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0


def test_a_job_that_outlasts_the_grace_is_handed_back_with_its_attempt(start: Start) -> None:
    job = wait.enqueue(60)

    with start("--grace", "0.3") as worker:
        wait_until(is_running(job))
        worker.send(signal.SIGTERM)
        code = worker.wait()

    job.refresh_from_db()
    assert (code, job.state, job.attempt) == (0, State.PENDING, 0)
    assert JobRun.objects.get().outcome == "released"


@pytest.mark.long
def test_a_deaf_job_is_handed_back_for_when_the_process_has_ended(start: Start) -> None:
    job = deaf.using(timeout=60).enqueue(60)

    with start("--grace", "0") as first:
        wait_until(lambda: Mark.objects.exists())
        with start() as second:
            second.wait_until_live()
            first.send(signal.SIGTERM)
            code = first.wait()
            wait_until(lambda: Job.objects.get(pk=job.pk).state == State.SUCCEEDED)

    job.refresh_from_db()
    once, again = Mark.objects.order_by("pk")
    assert (code, job.attempt, once.pid, again.pid) == (0, 1, first.pid, second.pid)
    assert [run.outcome for run in JobRun.objects.order_by("pk")] == ["released", "succeeded"]
    assert once.ended_at < again.began_at


@pytest.mark.once
def test_a_second_signal_ends_the_process_at_once(start: Start) -> None:
    job = stay.enqueue(60)

    with start("--grace", "60") as worker:
        wait_until(is_running(job))
        worker.send(signal.SIGTERM)
        wait_until(is_stopping)
        worker.send(signal.SIGTERM)
        code = worker.wait()

    assert code == 128 + signal.SIGTERM
    assert Job.objects.get().state == State.RUNNING


def test_a_killed_worker_s_job_is_taken_over_within_the_lease_and_2_seconds(start: Start) -> None:
    # A machine that stands still meanwhile makes it later; one of three tells what the workers do.
    assert any(seconds_to_take_over(start) < 2 + 2 for _ in range(3))


def seconds_to_take_over(start: Start) -> float:
    """Kill a worker in mid-job, and return how many seconds later another has begun to run it."""
    job = wait.enqueue(60)

    with start(LEASE_SECONDS=2) as first, start(LEASE_SECONDS=2) as second:
        wait_until(lambda: Worker.objects.filter(pid__in=[first.pid, second.pid]).count() == 2)
        wait_until(is_running(job))
        owner = Job.objects.get(pk=job.pk).lease_owner
        victim = first if Worker.objects.get(name=owner).pid == first.pid else second
        victim.send(signal.SIGKILL)
        killed_at = clock.read("default")
        wait_until(lambda: JobRun.objects.filter(job=job, outcome="lost").exists())
        wait_until(is_running(job))
        current = Job.objects.get(pk=job.pk)

    assert current.lease_owner not in ("", owner)
    assert JobRun.objects.get(job=job).worker == owner
    assert (current.attempt, current.losses) == (2, 1)
    # Its worker is gone too now, and the next are not to take it over.
    Job.objects.filter(pk=job.pk).delete()
    return float((current.started_at - killed_at).total_seconds())


@pytest.mark.long
def test_a_job_that_kills_every_worker_is_quarantined_and_harms_no_other(start: Start) -> None:
    poison = kill_worker.enqueue(99)
    others = [echo.enqueue(number) for number in range(100)]

    for _ in range(3):
        with start(LEASE_SECONDS=2) as worker:
            worker.wait()
    with start(LEASE_SECONDS=2):
        wait_until(lambda: Job.objects.get(pk=poison.pk).state == State.DEAD)
        wait_until(lambda: Job.objects.succeeded().count() == len(others))

    poison.refresh_from_db()
    assert (poison.attempt, poison.losses) == (3, 3)
    assert poison.error.startswith("Quarantined: 3 workers died while running it")
    # Those in the other three slots may have been called; what was claimed ahead has lost nothing.
    assert JobRun.objects.filter(job__in=others, outcome="lost").count() <= 3


@pytest.mark.once
def test_a_handler_deaf_to_its_timeout_makes_the_process_exit_with_75(start: Start) -> None:
    job = stay.using(timeout=0.2, max_attempts=1).enqueue(60)

    with start(STOP_GRACE_SECONDS=0.2) as worker:
        code = worker.wait()
        output = worker.output()

    job.refresh_from_db()
    assert (code, job.state, JobRun.objects.get().outcome) == (75, State.DEAD, "timed_out")
    assert "handler ignores its timeout" in output


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--concurrency", "0"], "'0' is not a whole number from 1 to 1000000."),
        (["--queues", "a\x00b"], "is no queue name"),
        (["--grace", "-1"], "'-1' is not a number of seconds"),
        (["--max-age", "0"], "'0' would end every process before its first job."),
        (["--max-rss", "1"], r"--max-rss=1 leaves no room: the process has \d+ MiB before its first job."),
        (["--database", "nowhere"], "--database='nowhere' is not in DATABASES"),
    ],
)
def test_bad_arguments_say_what_to_do(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("runworkers", *arguments)
