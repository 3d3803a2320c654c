"""How the jobs of a kind, or of a queue, have been doing lately."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from ..models import Job, JobRun
from .history import duration, tone, waited
from .search import newest

# No index has what has run by kind or queue, so that so many of the newest are looked through.
WINDOW = 10_000
MOST_RUNS = 60


@dataclass(frozen=True, slots=True)
class Lately:
    """The newest runs of some jobs, the oldest of them first."""

    runs: list[JobRun]

    @property
    def failed(self) -> float:
        """The share of the runs that ended badly, 0 to 1."""
        return sum(tone(run) == "bad" for run in self.runs) / len(self.runs) if self.runs else 0.0

    def took(self, share: float) -> timedelta | None:
        """Return what this share of the runs (above 0, to 1) took at most: 0.5 asks for the median."""
        return self._percentile(duration, share)

    def waited(self, share: float) -> timedelta | None:
        """Return how long at most this share of the runs began after they were due."""
        return self._percentile(waited, share)

    def _percentile(self, of: Callable[[JobRun], timedelta | None], share: float) -> timedelta | None:
        """Return the nearest rank, over the runs that were seen to start; None where there are none."""
        lengths = sorted(length for run in self.runs if (length := of(run)) is not None)
        return lengths[math.ceil(share * len(lengths)) - 1] if lengths else None


def lately(*, using: str, **where: str) -> Lately:
    """Return ``MOST_RUNS`` of the newest runs of a ``kind`` or ``queue``: those of as many of its newest jobs (four queries)."""
    jobs = newest(Job.objects.using(using).filter(claim_no__gt=0, **where), WINDOW)
    ids = list(jobs.order_by("-pk").values_list("pk", flat=True)[:MOST_RUNS])
    runs = newest(JobRun.objects.using(using).filter(job_id__in=ids), WINDOW).order_by("-pk")
    return Lately(list(runs.defer("message", "traceback", "log")[:MOST_RUNS])[::-1])
