"""A transaction of the site's that holds rows of jobs while workers go on with all others."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection

from jobs.models import Job, JobRun
from jobs.states import State
from tests.jobs import mark
from tests.leasing import elsewhere
from tests.models import Mark
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("sqlite" in connection.settings_dict["ENGINE"], reason="SQLite locks the whole database"),
]

# The lease outlasts the site's transaction, so that nothing is rescued; the heartbeat comes often.
PATIENT = {"LEASE_SECONDS": 60, "HEARTBEAT_SECONDS": 0.5}
LOCK = "SELECT 1 FROM jobs_job WHERE id = %s FOR UPDATE"
CHANGE = "UPDATE jobs_job SET metadata = metadata WHERE id = %s"


@pytest.mark.parametrize("hold", [LOCK, CHANGE], ids=["select for update", "update"])
def test_rows_held_by_the_site_keep_nothing_else_waiting_and_run_once_when_let_go(database_url: str, hold: str) -> None:
    pending = mark.enqueue()
    scheduled = mark.using(delay=1).enqueue()

    with elsewhere(hold, pending.pk) as execute:
        execute(hold, scheduled.pk)
        with WorkerProcess(database_url, settings=PATIENT), WorkerProcess(database_url, settings=PATIENT):
            running, *others = [mark.enqueue(seconds) for seconds in (0.5, 30.0, 30.0)]
            wait_until(lambda: Mark.objects.count() == 3)
            execute(hold, running.pk)
            before = leases(others)
            Job.objects.enqueue_many([mark.spec() for _ in range(100)])
            Job.objects.enqueue_many([mark.using(delay=1).spec() for _ in range(100)])
            wait_until(lambda: Job.objects.succeeded().count() == 200, seconds=50)
            wait_until(lambda: Mark.objects.get(job_id=running.pk).ended_at)
            wait_until(lambda: all(leases(others)[pk] > at + timedelta(seconds=2) for pk, at in before.items()))
            held = states(pending, scheduled, running)
            execute("ROLLBACK")
            wait_until(lambda: states(pending, scheduled, running) == [State.SUCCEEDED] * 3)

    assert len(before) == len(others)
    assert held == [State.PENDING, State.SCHEDULED, State.RUNNING]
    assert set(Counter(Mark.objects.values_list("job_id", flat=True)).values()) == {1}
    assert JobRun.objects.filter(outcome="succeeded").count() == 203
    assert not JobRun.objects.exclude(outcome="succeeded").exists()


def test_a_job_held_for_longer_than_its_lease_is_settled_or_run_again_and_never_twice_at_once(
    database_url: str,
) -> None:
    job = mark.enqueue(0.5)

    with WorkerProcess(database_url), WorkerProcess(database_url):
        wait_until(lambda: Mark.objects.exists())
        with elsewhere(LOCK, job.pk):
            wait_until(lambda: Job.objects.expired_leases().exists())
        wait_until(lambda: states(job) == [State.SUCCEEDED])

    calls = list(Mark.objects.order_by("began_at").values_list("began_at", "ended_at"))
    assert all(one[1] <= other[0] for one, other in pairwise(calls))
    assert [run.outcome for run in JobRun.objects.order_by("pk")] in (["succeeded"], ["lost", "succeeded"])


def leases(jobs: list[Any]) -> dict[int, Any]:
    rows = Job.objects.running().filter(pk__in=[job.pk for job in jobs], claim_no=1)
    return dict(rows.values_list("pk", "lease_expires_at"))


def states(*jobs: Any) -> list[str]:
    found = dict(Job.objects.values_list("pk", "state"))
    return [found[job.pk] for job in jobs]
