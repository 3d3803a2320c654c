"""Several schedulers on one schedule, some of them killed: each slot exactly once, and on time."""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db.models import F

from jobs.models import CronJob, Job, JobEvent, Worker
from tests.processes import WorkerProcess
from tests.scheduling import make
from tests.working import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]

PROCESSES = 5
SECONDS = 10


def test_each_real_slot_becomes_one_job_though_schedulers_are_killed(database_url: str) -> None:
    with ExitStack() as stack:
        workers = [stack.enter_context(WorkerProcess(database_url)) for _ in range(PROCESSES)]
        wait_until(lambda: Worker.objects.count() == PROCESSES)
        schedule = make(every=1, catch_up="all")
        for ended in (2, 4, 6):
            wait_until(lambda ended=ended: Job.objects.succeeded().count() >= ended)
            workers.pop(0).send(signal.SIGKILL)
        wait_until(lambda: Job.objects.succeeded().count() > SECONDS, seconds=60)
        CronJob.objects.update(enabled=False)

    slots = Counter(Job.objects.filter(cron_id=schedule.pk).values_list("scheduled_for", flat=True))
    assert set(slots.values()) == {1}
    assert {later - earlier for earlier, later in pairwise(sorted(slots))} == {timedelta(seconds=1)}
    assert not JobEvent.objects.filter(kind=JobEvent.Kind.SKIPPED).exists()
    late = Job.objects.annotate(late=F("enqueued_at") - F("scheduled_for")).values_list("late", flat=True)
    assert min(late) >= timedelta(0)


def test_workers_that_poll_at_a_pace_of_their_own_run_a_slot_once(database_url: str) -> None:
    schedule = make(every=1, catch_up="all")

    with WorkerProcess(database_url), WorkerProcess(database_url, settings={"POLL_SECONDS": 0.02}):
        wait_until(lambda: Job.objects.succeeded().count() >= 5, seconds=60)

    slots = Counter(Job.objects.filter(cron_id=schedule.pk).values_list("scheduled_for", flat=True))
    assert set(slots.values()) == {1}
