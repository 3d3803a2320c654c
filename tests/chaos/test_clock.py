"""Workers whose host has the wrong time: every stored time is the database's all the same."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from jobs import clock
from jobs.models import Job, JobRun, Worker
from jobs.states import State
from tests.jobs import mark
from tests.processes import WorkerProcess
from tests.working import wait_until

LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(LIBRARY is None, reason="needs Debian's package libfaketime"),
]


@pytest.mark.parametrize("hours", [-1, 1], ids=["an hour behind", "an hour ahead"])
def test_a_wrong_clock_changes_nothing_but_the_skew_shown(
    database_url: str, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(LIBRARY))
    monkeypatch.setenv("FAKETIME", f"{hours:+d}h")
    now, later = mark.enqueue(0.5), mark.using(delay=1).enqueue()
    begun = clock.read("default")

    with WorkerProcess(database_url) as wrong:
        wait_until(lambda: Job.objects.filter(state=State.SUCCEEDED).count() == 2)
        skew = Worker.objects.get(pid=wrong.pid).clock_skew
        output = wrong.output()
    ended = clock.read("default")

    assert skew == pytest.approx(hours * 3600, abs=60)
    assert "clock skew" in output
    for run in JobRun.objects.all():
        assert begun - timedelta(seconds=1) <= run.started_at <= run.finished_at <= ended
    assert JobRun.objects.get(job=later).started_at >= later.run_at
    assert now.pk != later.pk
