"""Taking jobs away from workers that fell silent."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import Error, transaction

from .. import clock
from ..conf import settings
from ..models import Job, JobEvent, JobRun, Worker
from ..models.among import Among
from ..models.queryset import JobQuerySet
from ..outcomes import Lost, RunOutcome, Verdict, decide
from ..wakeups import READY, Wakeup, announce
from .refusals import is_refused
from .settlement import Answer, Lease, Settlement, settle

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rescued:
    """A job whose lease had expired, the worker that held it, and what became of it."""

    lease: Lease
    kind: str
    worker: str
    verdict: Verdict


def rescue(*, limit: int = 500, among: Collection[int] | None = None, using: str) -> list[Rescued]:
    """
    Take back up to ``limit`` jobs whose lease expired, by the database's clock; ``among`` these ids, if given.

    The lease is tested in the statement that locks the row: an id list read
    earlier would steal a lease renewed in between. Rows that others have
    locked are left for the next time. A second call finds nothing to do.
    """
    expired = Job.objects.using(using).expired_leases()
    if among is not None:
        expired = expired.filter(Among("pk", among))
    try:
        return _rescue(expired, limit, using=using)
    except Error as error:
        if not is_refused(error):
            raise
        # One row that the database refuses must not keep the others waiting.
        return _rescue_one_by_one(expired, limit, using=using)


def _rescue_one_by_one(expired: JobQuerySet, limit: int, *, using: str) -> list[Rescued]:
    rescued: list[Rescued] = []
    # All of them, since any number of refused ones may come first.
    for job_id in list(expired.order_by("pk").values_list("pk", flat=True)):
        if len(rescued) >= limit:
            break
        try:
            rescued += _rescue(expired.filter(pk=job_id), 1, using=using)
        except Error as error:
            if not is_refused(error):
                raise
            logger.critical("rescue refused by the database job=%s error=%s", job_id, error)
    return rescued


def _rescue(expired: JobQuerySet, limit: int, *, using: str) -> list[Rescued]:
    with transaction.atomic(using=using):
        jobs = list(expired.lock()[:limit])
        if not jobs:
            return []
        rescued = [
            Rescued(_lease(job), job.kind, job.lease_owner, verdict) for job, verdict in _verdicts(jobs, using=using)
        ]
        answers = settle([Settlement(lease=one.lease, verdict=one.verdict) for one in rescued], using=using)
        taken = [one for one in rescued if answers[one.lease] is Answer.DONE]
        _record_quarantines(taken, using=using)
        announce([Wakeup(READY)], using=using)
    return taken


def _lease(job: Job) -> Lease:
    return Lease(job.pk, job.claim_no)


def _verdicts(jobs: list[Job], *, using: str) -> Iterable[tuple[Job, Verdict]]:
    owners = {job.lease_owner for job in jobs}
    workers = {worker.name: worker for worker in Worker.objects.using(using).filter(name__in=owners)}
    earlier = _earlier_deaths([job.pk for job in jobs if job.losses], using=using)
    for job in jobs:
        owner = workers.get(job.lease_owner)
        is_alive = owner is not None and _was_heard_of_later(owner, job)
        lost = Lost(
            started=job.started_at is not None,
            worker=job.lease_owner,
            last_heard=f"{owner.heartbeat_at:%Y-%m-%d %H:%M:%S %Z}" if owner else "unknown",
            deaths=min(earlier.get(job.pk, 0), job.losses) + (not is_alive),
            quarantine_losses=settings.quarantine_losses,
            worker_is_alive=is_alive,
        )
        yield job, decide(lost, job)


def _was_heard_of_later(owner: Worker, job: Job) -> bool:
    """
    Say whether the worker has beaten since it last renewed this lease.

    A dead worker's last beat comes just after its last renewal, so only one
    that is more than a whole beat later tells of a worker that lives.
    """
    assert job.lease_expires_at is not None  # noqa: S101 (it is what was asked for)
    quiet = timedelta(seconds=settings.lease_seconds - 1.5 * settings.heartbeat_seconds)
    return owner.heartbeat_at > job.lease_expires_at - quiet


def _earlier_deaths(job_ids: list[int], *, using: str) -> dict[int, int]:
    """Count, for each job, the lost runs whose worker was not heard of after it lost the lease."""
    if not job_ids:
        return {}
    lost: Any = JobRun.objects.using(using).filter(job_id__in=job_ids, outcome=RunOutcome.LOST)
    runs = list(lost.values_list("job_id", "worker", "finished_at"))
    workers = Worker.objects.using(using).filter(name__in={worker for _, worker, _ in runs})
    heard = dict(workers.values_list("name", "heartbeat_at"))
    deaths: dict[int, int] = {}
    for job_id, worker, lost_at in runs:
        if worker not in heard or heard[worker] <= lost_at:
            deaths[job_id] = deaths.get(job_id, 0) + 1
    return deaths


def _record_quarantines(rescued: list[Rescued], *, using: str) -> None:
    JobEvent.objects.using(using).bulk_create(
        JobEvent(
            at=clock.now(),
            kind=JobEvent.Kind.QUARANTINED,
            job_id=one.lease.job_id,
            reason=(one.verdict.error or "")[:500],
        )
        for one in rescued
        if one.verdict.is_quarantine
    )
