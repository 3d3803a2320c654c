"""Real worker processes: a fresh interpreter each, started as a site starts them."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .database import Database

PROJECT = Path(__file__).resolve().parent.parent
RUNWORKERS = (sys.executable, "-m", "django", "runworkers", "--concurrency", "4", "--verbosity", "0")
PATIENCE_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What a process that drained the table and ended has used, from its start to its exit."""

    wall_seconds: float
    cpu_seconds: float


def burst() -> Burst:
    """Run one worker process until nothing is due; raise if it fails."""
    began, used = time.monotonic(), _children_cpu_seconds()
    subprocess.run([*RUNWORKERS, "--burst"], cwd=PROJECT, check=True, timeout=PATIENCE_SECONDS)
    return Burst(wall_seconds=time.monotonic() - began, cpu_seconds=_children_cpu_seconds() - used)


def start(*, jobs: dict[str, Any] | None = None) -> subprocess.Popen[bytes]:
    """Start one worker process, with settings of ``JOBS`` if any; the caller ends it."""
    environment = os.environ | {"JOBS_BENCH_SETTINGS": json.dumps(jobs or {})}
    return subprocess.Popen(RUNWORKERS, cwd=PROJECT, env=environment)


@contextlib.contextmanager
def fleet(
    database: Database, size: int, *, jobs: dict[str, Any] | None = None
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Keep so many worker processes up for the block, once all have registered; it may put others into the list."""
    processes = [start(jobs=jobs) for _ in range(size)]
    try:
        for process in processes:
            _wait_until_registered(database, process)
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def idle_worker(database: Database) -> Iterator[int]:
    """Keep one worker process up for the block, once it has registered; the value is its pid."""
    with fleet(database, 1) as (process,):
        yield process.pid


def cpu_seconds(pid: int) -> float | None:
    """Return the processor time that a process has used, or None where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    user, system = fields[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int | None:
    """Return the memory that a process really occupies, or None where there is no /proc."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _children_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _wait_until_registered(database: Database, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30.0
    while not database.ask("SELECT COUNT(*) FROM jobs_worker WHERE pid = %s", [process.pid]):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("The worker process did not start.")
        time.sleep(0.05)
