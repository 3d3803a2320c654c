"""Letting workers that are only rows run jobs, and letting time pass."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from jobs import clock, leases
from jobs.leases import Beat, Claimed, Settlement
from jobs.models import Job, JobEvent, JobRun
from jobs.outcomes import Outcome, decide
from jobs.testing import age

MINUTE, HOUR = 60, 3_600
USING = "default"
LEASE_SECONDS = 300
MAIL, OFFICE, BACK_OFFICE = "mail-1:412:5b1c9e", "office-1:733:a90f21", "office-2:811:07d4ce"


def run(outcome: Outcome, *, seconds: float, worker: str = OFFICE, log: str | None = None) -> None:
    """Let the worker run the one job that is due, soon after it was."""
    Job.objects.pending().update(run_at=clock.in_seconds(-seconds - 0.2))
    claimed = _claim(worker)
    verdict = decide(outcome, claimed, chance=0.5)
    leases.settle([Settlement(lease=claimed.lease, verdict=verdict, duration=seconds, log=log)], using=USING)


def start(job: Job, *, seconds: float, worker: str = OFFICE, **report: object) -> None:
    """Let the worker start the one job that is due, so long ago, and report how far it is."""
    beat = Beat(lease=_claim(worker, queues=[job.queue]).lease, running=seconds, **report)  # type: ignore[arg-type]
    leases.renew([beat], lease_seconds=LEASE_SECONDS, using=USING)
    earlier(job, seconds)


def earlier(job: Job, seconds: float) -> None:
    """Move a job, its runs and its events into the past."""
    span = timedelta(seconds=seconds)
    age(job, seconds)
    JobRun.objects.filter(job=job).update(**{name: F(name) - span for name in ("due_at", "started_at", "finished_at")})
    JobEvent.objects.filter(job=job).update(at=F("at") - span)


def _claim(worker: str, **where: object) -> Claimed:
    ((claimed,), _) = leases.claim(worker, slots=1, ahead=0, lease_seconds=LEASE_SECONDS, using=USING, **where)
    return claimed
