"""Every bad value there is, in one batch with good jobs, through a real worker."""

from __future__ import annotations

import random
import signal

import pytest
from django.test import Client
from django.urls import reverse

from jobs import JobSpec
from jobs.models import Job, JobRun
from jobs.states import State
from tests import bad_values
from tests.bad_values import DEAD, LOGGED, RAISED, RETURNED, STORED
from tests.jobs import noop
from tests.processes import PATIENT, WorkerProcess
from tests.working import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = 200
RAISING = (bad_values.raises, bad_values.raises_in_async, bad_values.raises_in_atomic)
RETURNING = (bad_values.returns, bad_values.returns_in_atomic)
ENDS = (
    {(handler.kind, name): DEAD for handler in RAISING for name in RAISED}
    | {(handler.kind, name): state for handler in RETURNING for name, (_, state) in RETURNED.items()}
    | {(bad_values.logs.kind, name): STORED for name in LOGGED}
)


@pytest.mark.long
def test_bad_values_harm_neither_the_worker_nor_the_jobs_beside_them(
    database_url: str, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBS_TEST_IMPORT", bad_values.__name__)
    specs = [noop.spec() for _ in range(GOOD)] + [JobSpec(kind, args=[name], max_attempts=1) for kind, name in ENDS]
    random.shuffle(specs)
    Job.objects.enqueue_many(specs)

    # Texts of 50 MB keep the heartbeat waiting for the interpreter.
    with WorkerProcess(database_url, settings=PATIENT) as worker:
        wait_until(lambda: not Job.objects.filter(finished_at__isnull=True).exists(), seconds=60)
        after = noop.enqueue()
        wait_until(lambda: Job.objects.get(pk=after.pk).state == State.SUCCEEDED)
        worker.send(signal.SIGTERM)
        code = worker.wait()

    bad = {(job.kind, job.args[0]): job for job in Job.objects.exclude(kind=noop.kind)}
    assert code == 0
    assert {key: job.state for key, job in bad.items()} == ENDS
    assert Job.objects.filter(kind=noop.kind, state=State.SUCCEEDED).count() == GOOD + 1
    assert JobRun.objects.count() == len(bad) + GOOD + 1
    raised = JobRun.objects.filter(job__kind=bad_values.raises.kind).values_list("job__args__0", "exception_class")
    assert dict(raised) == {name: type(make()).__name__ for name, make in RAISED.items()}
    assert all(job.error for job in bad.values() if job.state == DEAD)
    for one in bad.values():
        page = admin_client.get(reverse("admin:jobs_job_change", args=[one.pk]))
        assert page.status_code == 200, one
