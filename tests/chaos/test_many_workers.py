"""Several workers on one database: every job exactly once, no two runs of one job at a time."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import ExitStack
from itertools import pairwise

import pytest
from django.db import connection

from jobs.models import Job, JobRun, Worker
from tests.jobs import mark
from tests.models import Mark
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]


def test_each_of_many_short_jobs_runs_exactly_once(database_url: str) -> None:
    workers, jobs = (2, 500) if connection.vendor == "sqlite" else (3, 3_000)

    with ExitStack() as stack:
        processes = [stack.enter_context(WorkerProcess(database_url)) for _ in range(workers)]
        wait_until(lambda: Worker.objects.count() == workers)
        # In small transactions, so that the producer and the workers meet.
        for _ in range(jobs // 50):
            Job.objects.enqueue_many([mark.spec() for _ in range(50)])
        wait_until(lambda: Job.objects.succeeded().count() == jobs, seconds=120)
        for process in processes:
            process.send(signal.SIGTERM)
        codes = [process.wait() for process in processes]
        output = "".join(process.output() for process in processes)

    calls = Counter(Mark.objects.values_list("job_id", flat=True))
    assert codes == [0] * workers
    assert (len(calls), set(calls.values())) == (jobs, {1})
    assert JobRun.objects.count() == jobs
    assert len(set(Mark.objects.values_list("pid", flat=True))) == workers
    assert "database is locked" not in output


def test_runs_of_one_job_never_overlap_while_workers_are_killed(database_url: str) -> None:
    jobs = 40

    with ExitStack() as stack:
        settings = {"QUARANTINE_LOSSES": 100}
        processes = [stack.enter_context(WorkerProcess(database_url, settings=settings)) for _ in range(3)]
        wait_until(lambda: Worker.objects.count() == 3)
        Job.objects.enqueue_many([mark.using(max_attempts=100).spec(0.3) for _ in range(jobs)])
        for number in range(4):
            done = 8 * (number + 1)
            wait_until(lambda done=done: Job.objects.succeeded().count() >= done, seconds=60)
            processes.pop(0).send(signal.SIGKILL)
            processes.append(stack.enter_context(WorkerProcess(database_url, settings=settings)))
        wait_until(lambda: Job.objects.succeeded().count() == jobs, seconds=120)

    for job_id in Job.objects.values_list("pk", flat=True):
        calls = list(Mark.objects.filter(job_id=job_id).order_by("began_at"))
        # One that was killed has no end; one killed before its settlement ends before the next begins.
        assert all(one.ended_at is None or one.ended_at <= two.began_at for one, two in pairwise(calls))
        assert calls[-1].ended_at is not None
        assert [call.claim_no for call in calls] == sorted({call.claim_no for call in calls})
