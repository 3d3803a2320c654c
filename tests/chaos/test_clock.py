"""Workers on hosts whose clocks are an hour wrong: all times, and all that depends on them, are the database's."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from jobs import clock, operations
from jobs.models import Job, JobRun, Queue, Worker
from jobs.states import State
from tests.jobs import mark, relay
from tests.models import Mark
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler for the wrong clock"),
]

HOUR = 3600
SHIM = Path(__file__).with_name("wrong_clock.c")

Start = Callable[[int], WorkerProcess]


@pytest.fixture
def start(database_url: str, tmp_path: Path) -> Start:
    """Start a worker of two slots whose clock is wrong by so many seconds."""
    library = tmp_path / "wrong_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True, capture_output=True)

    def start(seconds: int) -> WorkerProcess:
        before = ["env", f"LD_PRELOAD={library}", f"WRONG_CLOCK_SECONDS={seconds}"]
        return WorkerProcess(database_url, "--concurrency", "2", before=before)

    return start


def test_wrong_clocks_change_no_moment_and_show_as_skew(start: Start) -> None:
    begun = clock.read("default")
    in_half_an_hour = begun + timedelta(seconds=HOUR / 2)
    operations.pause("paused", resume_at=in_half_an_hour)
    not_yet = [
        mark.using(run_at=in_half_an_hour).enqueue(),
        mark.using(queue="paused", expires_at=in_half_an_hour).enqueue(),
    ]

    with ExitStack() as stack:
        ahead, behind, right = (stack.enter_context(start(seconds)) for seconds in (HOUR, -HOUR, 0))
        skews = {one.wait_until_live().pid: one.wait_until_live().clock_skew for one in (ahead, behind, right)}
        # Each slot has a job of several leases, and then jobs that fall due, enqueued by this and by wrong clocks.
        long = [mark.enqueue(6.0) for _ in range(6)]
        wait_until(lambda: Mark.objects.count() == len(long))
        soon = [mark.using(delay=0.1 * number).enqueue() for number in range(40)]
        relays = [relay.enqueue(0.5) for _ in range(20)]
        wait_until(lambda: Job.objects.succeeded().count() == len(long + soon + 2 * relays), seconds=60)
        unstolen = not Job.objects.filter(claim_no__gt=1).exists()
        lost = _kill_in_mid_job(right)
        wait_until(lambda: Job.objects.get(pk=lost.pk).state == State.SUCCEEDED, seconds=30)
        outputs = [one.output() for one in (ahead, behind, right)]
    ended = clock.read("default")

    assert list(skews.values()) == [pytest.approx(seconds, abs=5) for seconds in (HOUR, -HOUR, 0)]
    assert ["clock skew" in output for output in outputs] == [True, True, False]
    assert unstolen
    assert [Job.objects.get(pk=job.pk).state for job in not_yet] == [State.SCHEDULED, State.PENDING]
    assert Queue.objects.paused().exists()
    runs = JobRun.objects.select_related("job")
    assert all(run.job.run_at <= run.started_at <= run.finished_at for run in runs)
    # A poll, a promotion and a claim later: seconds on a busy machine, and no hour.
    assert all(run.started_at - run.job.run_at < timedelta(seconds=60) for run in runs)
    assert {run.worker for run in runs} == set(Worker.objects.values_list("name", flat=True))
    assert all(begun <= moment <= ended for moment in _stored_moments())
    first = JobRun.objects.get(job=lost, outcome="lost")
    assert first.finished_at >= lost.lease_expires_at


def _kill_in_mid_job(worker: WorkerProcess) -> Job:
    """Kill ``worker`` while it runs a job, whose lease a wrong clock must now wait for; return the job as it was then."""
    name = Worker.objects.get(pid=worker.pid).name
    for _ in range(6):
        mark.enqueue(3.0)
    job = wait_until(lambda: Job.objects.running().filter(lease_owner=name).first())
    worker.send(signal.SIGKILL)
    worker.wait()
    return Job.objects.get(pk=job.pk)


def _stored_moments() -> list[datetime]:
    moments = [moment for row in Worker.objects.values_list("started_at", "heartbeat_at") for moment in row]
    moments += [moment for row in JobRun.objects.values_list("started_at", "finished_at") for moment in row]
    moments += [moment for row in Job.objects.succeeded().values_list("enqueued_at", "finished_at") for moment in row]
    return moments + [moment for row in Mark.objects.values_list("began_at") for moment in row]
