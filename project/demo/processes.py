"""Starting management commands as processes of their own, and ending them."""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

MANAGE = Path(__file__).resolve().parent.parent.parent / "manage.py"
STOP_SECONDS = 15.0
LOOK_SECONDS = 0.05


class ShowCannotGoOn(Exception):
    """A process that the show needs does not stay up."""


def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a management command whose output goes to a file of that ``name``."""
    path = _log(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as log:
        # In a group of its own, or Ctrl-C would reach it past us.
        return subprocess.Popen(
            [sys.executable, MANAGE, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            process_group=0,
        )


def stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ask processes to stop, wait for them, and kill those that do not."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + STOP_SECONDS
    while time.monotonic() < until and any(process.poll() is None for process in processes):
        time.sleep(LOOK_SECONDS)
    for process in processes:
        process.kill()
        process.wait()


def fate(returncode: int) -> str:
    """Say how a process ended."""
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"gone with exit code {returncode}"


def tail(name: str) -> str:
    """Return the end of what the command of that ``name`` has written."""
    return "\n".join(_log(name).read_text(errors="replace").splitlines()[-20:])


def _log(name: str) -> Path:
    return Path(settings.VAR_DIR) / "logs" / f"{name}.log"
