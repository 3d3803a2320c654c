"""Taking jobs away from workers that fell silent, before another worker does so by itself."""

from __future__ import annotations

from collections.abc import Collection

from .. import leases
from ..models import JobEvent
from ..models.queryset import JobQuerySet
from ..states import State
from .batches import Batch, Report, work_through
from .decision import Actor, Decision


def rescue(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """
    Take running jobs whose lease has expired from their workers; one whose lease has not is left.

    What becomes of each is what becomes of it when a worker does that: the
    attempt is spent if it had started, and it is pending again, or dead, or
    cancelled where somebody asked for that. A worker that still runs one
    learns of it no sooner than by its next write, which is refused.
    """
    return work_through(jobs, _rescue, sources=[State.RUNNING], decision=Decision.of(actor, reason), starts=True)


def _rescue(batch: Batch) -> Collection[int]:
    taken = leases.rescue(limit=len(batch.ids), among=batch.ids, using=batch.using)
    rescued = [one.lease.job_id for one in taken]
    batch.record(JobEvent.Kind.RESCUED, rescued)
    batch.report.moved += len(rescued)
    locked = batch.jobs(batch.ids).expired_leases().values_list("pk", flat=True)
    return set(batch.ids) - set(locked)
