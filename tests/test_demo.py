"""``manage.py demo`` as people run it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError

from jobs.models import Worker
from project.management.commands.demo import Command
from project.postgres import PROJECT

Demo = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def demo(database_url: str, tmp_path: Path) -> Iterator[Demo]:
    """Start ``manage.py demo`` with arguments, on the test database and with its files in ``tmp_path``."""
    environment = os.environ | {"DATABASE_URL": database_url, "DEMO_DIR": str(tmp_path)}
    environment["DJANGO_SETTINGS_MODULE"] = "project.settings"
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-u", "manage.py", "demo", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        started.append(subprocess.Popen(command, cwd=PROJECT, env=environment, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.communicate()


@pytest.mark.once
def test_a_limited_demo_ends_by_itself_with_every_job_as_it_should_be(demo: Demo, tmp_path: Path) -> None:
    process = demo("--seconds=60")

    told, _ = process.communicate(timeout=150)

    assert process.returncode == 0, told
    assert "All 16 jobs ended as they should." in told
    assert re.search(
        r"^ok +#\d+ +crash +succeeded +2 +worker-\d died of it, worker-\d took over after \d\.\d s$", told, re.M
    )
    assert re.search(r"killed by SIGKILL; worker-\d takes its place", told)
    assert "Admin:" not in told
    assert len(list((tmp_path / "mail").iterdir())) == 3
    assert workers_left() == []


@pytest.mark.long
def test_ctrl_c_ends_the_demo_and_all_its_processes(demo: Demo) -> None:
    process = demo()
    address = admin_address(process)
    with urllib.request.urlopen(address) as page:
        login = page.read().decode()

    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)

    assert "csrfmiddlewaretoken" in login
    assert process.returncode == 0, told
    assert "Traceback" not in told
    assert told.endswith("Stopped.\n")
    assert workers_left() == []
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address)


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", "nan"])
def test_a_bad_number_of_seconds_is_refused(seconds: str) -> None:
    parser = Command().create_parser("manage.py", "demo")

    with pytest.raises(CommandError, match=f"'{seconds}' is not a number of seconds from 1 to 86400"):
        parser.parse_args([f"--seconds={seconds}"])


def admin_address(process: subprocess.Popen[str]) -> str:
    """Read on until the demo has said where its admin is."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if found := re.match(r"Admin: (http\S+) \(log in as admin, password admin\)", line):
            return found[1]
    raise AssertionError("".join(lines))


def workers_left() -> list[int]:
    """Return the processes of workers that are still there."""
    pids = list(Worker.objects.values_list("pid", flat=True))
    assert pids
    return [pid for pid in pids if is_there(pid)]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
