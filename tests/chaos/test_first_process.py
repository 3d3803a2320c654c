"""A worker as process 1, as in a container without an init."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.models import Job, Worker
from jobs.states import State
from tests.jobs import wait_for
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        not shutil.which("unshare") or os.geteuid() != 0, reason="needs root and a namespace of process ids"
    ),
]

IN_A_NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


@pytest.mark.parametrize("processes", [1, 2])
def test_process_1_finishes_its_job_on_sigterm_and_exits_0(database_url: str, tmp_path: Path, processes: int) -> None:
    job = wait_for.enqueue(f"{tmp_path}/stopping", seconds=0.5)

    with WorkerProcess(database_url, "--processes", str(processes), before=IN_A_NAMESPACE) as outside:
        wait_until(lambda: Job.objects.get(pk=job.pk).state == State.RUNNING)
        inside = wait_until(lambda: _child_of(outside.pid))
        os.kill(inside, signal.SIGTERM)
        wait_until(lambda: Worker.objects.filter(draining_at__isnull=False).exists())
        (tmp_path / "stopping").touch()
        code = outside.wait()

    job.refresh_from_db()
    assert (code, job.state) == (0, State.SUCCEEDED)
    # The worker itself, or the supervisor of two.
    assert (1 in set(Worker.objects.values_list("pid", flat=True))) is (processes == 1)


def _child_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else 0


def test_the_namespace_is_one() -> None:
    answer = subprocess.run(
        [*IN_A_NAMESPACE, sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout.strip() == "1"
