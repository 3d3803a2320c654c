"""A worker that stands still for longer than its lease, and then goes on."""

from __future__ import annotations

import os
import signal

import pytest

from jobs.models import Job, JobRun, Worker
from jobs.states import State
from tests.jobs import mark, noop
from tests.models import Mark
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]


def test_a_frozen_worker_s_late_result_is_refused_and_it_goes_on_working(database_url: str) -> None:
    slow = mark.enqueue(2.5)

    with WorkerProcess(database_url, "--concurrency", "1") as frozen:
        wait_until(lambda: Mark.objects.exists())
        name = Worker.objects.get(pid=frozen.pid).name
        frozen.send(signal.SIGSTOP)
        with WorkerProcess(database_url, "--concurrency", "1") as other:
            wait_until(lambda: Job.objects.get(pk=slow.pk).state == State.SUCCEEDED, seconds=30)
            second = JobRun.objects.get(job=slow, outcome="succeeded")
            frozen.send(signal.SIGCONT)
            wait_until(lambda: Worker.objects.get(name=name).refused == 1)
            other.send(signal.SIGTERM)
            other.wait()
        after = noop.enqueue()
        wait_until(lambda: Job.objects.get(pk=after.pk).state == State.SUCCEEDED)
        frozen.send(signal.SIGTERM)
        code = frozen.wait()
        output = frozen.output()

    assert code == 0
    assert "lease lost" in output
    assert JobRun.objects.get(job=after).worker == name
    assert [run.outcome for run in JobRun.objects.filter(job=slow).order_by("pk")] == ["lost", "succeeded"]
    assert JobRun.objects.get(job=slow, outcome="succeeded") == second
    # The first call was told to stop, so it never wrote its end.
    assert Mark.objects.get(job_id=slow.pk, pid=frozen.pid).ended_at is None


def test_a_resumed_worker_starts_none_of_what_it_had_claimed_ahead_and_rescues_nobody_at_once(
    database_url: str,
) -> None:
    settings = {"POLL_SECONDS": 0.2}
    for _ in range(50):
        noop.enqueue()

    with WorkerProcess(database_url, "--concurrency", "1", settings=settings) as worker:
        wait_until(lambda: Job.objects.succeeded().count() == 50)
        worker.send(signal.SIGSTOP)
        name = Worker.objects.get().name
        # As if claimed ahead by the frozen worker, and by another that has died.
        from tests.leasing import claim, silence

        for _ in range(3):
            mark.enqueue()
        silence(*(one.lease for one in claim(name, slots=0, ahead=2)))
        silence(*(one.lease for one in claim("dead", slots=0, ahead=1)))
        os.kill(worker.pid, signal.SIGCONT)
        wait_until(lambda: Job.objects.succeeded().count() == 53, seconds=30)

    assert sorted(Mark.objects.values_list("claim_no", flat=True)) == [2, 2, 2]
