"""What the command line asks of a worker process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 1_048_576


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    ``queues`` empty means all; ``grace`` and ``max_age`` are seconds, and
    ``max_rss`` MiB. A worker that has begun ``max_jobs`` runs, is older than
    ``max_age`` or larger than ``max_rss`` finishes what it has and ends.
    ``sync`` brings the schedules that code declares into the database first.
    """

    concurrency: int = 4
    queues: Sequence[str] = ()
    using: str = "default"
    burst: bool = False
    grace: float | None = None
    reload: bool = False
    max_jobs: int | None = None
    max_age: float | None = None
    max_rss: int | None = None
    sync: bool = False

    def spent(self, *, begun: int, age: float) -> str | None:
        """Say why the worker should end now, or None."""
        if self.max_jobs is not None and begun >= self.max_jobs:
            return f"has begun {begun} jobs (--max-jobs)"
        if self.max_age is not None and age >= self.max_age:
            return f"is {age:.0f} s old (--max-age)"
        if self.max_rss is not None and (size := resident_mebibytes()) >= self.max_rss:
            return f"has grown to {size} MiB (--max-rss)"
        return None


def resident_mebibytes() -> int:
    """Return the memory this process has in RAM now; on systems without /proc, the most it ever had."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // MEBIBYTE
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (MEBIBYTE if sys.platform == "darwin" else 1024)
