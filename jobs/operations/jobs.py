"""Retrying, cancelling, triggering and discarding jobs, one or a hundred thousand."""

from __future__ import annotations

from collections.abc import Collection

from django.db import IntegrityError, transaction

from .. import clock, states
from ..models import Job, JobEvent
from ..models.among import Among
from ..models.queryset import JobQuerySet
from ..outcomes import CANCELLED
from ..states import LIVE, State
from ..wakeups import CANCEL, READY, Wakeup
from .batches import Batch, Report, work_through
from .decision import Actor, Decision


def retry(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """
    Make dead and cancelled jobs pending now, with a fresh budget of attempts and no losses.

    Of several jobs with one unique key the newest is taken; one whose key a
    live job holds is left. A second call finds nothing to move.
    """
    decision = Decision.of(actor, reason)
    return work_through(jobs, _retry, sources=states.RETRY.sources, decision=decision, starts=True)


def cancel(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """
    Cancel scheduled and pending jobs now; ask running ones to stop.

    A running job ends as cancelled when its handler obeys, or fails or is
    lost; one that succeeds first, succeeded.
    """
    return work_through(jobs, _cancel, sources=LIVE, decision=Decision.of(actor, reason))


def trigger(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """Make scheduled jobs, backing-off ones included, pending now; attempts stay as they are."""
    decision = Decision.of(actor, reason)
    return work_through(jobs, _trigger, sources=states.TRIGGER.sources, decision=decision, starts=True)


def discard(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """Make dead jobs cancelled, so that nobody looks at them again; the error that they died of stays."""
    return work_through(jobs, _discard, sources=states.DISCARD.sources, decision=Decision.of(actor, reason))


def _trigger(batch: Batch) -> Collection[int]:
    moved = batch.move(states.TRIGGER, run_at=clock.now())
    batch.record(JobEvent.Kind.TRIGGERED, moved)
    if moved:
        batch.announce(Wakeup(READY))
    batch.report.moved += len(moved)
    return moved


def _discard(batch: Batch) -> Collection[int]:
    moved = batch.move(states.DISCARD, finished_at=clock.now())
    batch.record(JobEvent.Kind.DISCARDED, moved)
    batch.report.moved += len(moved)
    return moved


def _cancel(batch: Batch) -> Collection[int]:
    cancelled = batch.move(states.CANCEL, finished_at=clock.now(), error=batch.decision.reason or CANCELLED)
    running = batch.locked([State.RUNNING]).filter(cancel_requested_at__isnull=True)
    owners = dict(running.values_list("pk", "lease_owner"))
    batch.jobs(owners).update(cancel_requested_at=clock.now())
    batch.announce(*{Wakeup(CANCEL, owner) for owner in owners.values()})
    batch.record(JobEvent.Kind.CANCELLED, cancelled)
    batch.record(JobEvent.Kind.CANCEL_REQUESTED, owners)
    batch.report.moved += len(cancelled)
    batch.report.asked += len(owners)
    return [*cancelled, *owners]


def _retry(batch: Batch) -> Collection[int]:
    free, blocked = _without_rivals(batch.ids, using=batch.using)
    try:
        with transaction.atomic(using=batch.using):
            moved = _retried(batch, free)
    except IntegrityError:
        # Somebody enqueued one of these keys in between: find out which, one by one.
        moved = [job_id for job_id in free if _retried_alone(batch, job_id, blocked)]
    batch.record(JobEvent.Kind.RETRIED, moved)
    if moved:
        batch.announce(Wakeup(READY))
    batch.report.moved += len(moved)
    batch.report.blocked_by |= blocked
    return [*moved, *blocked]


def _retried(batch: Batch, ids: Collection[int]) -> list[int]:
    some = Batch(ids=ids, decision=batch.decision, report=batch.report, using=batch.using)
    return some.move(
        states.RETRY,
        attempt=0,
        losses=0,
        stranded=0,
        unknown_since=None,
        run_at=clock.now(),
        expires_at=None,
        started_at=None,
        finished_at=None,
        progress=None,
    )


def _retried_alone(batch: Batch, job_id: int, blocked: dict[int, int]) -> bool:
    try:
        with transaction.atomic(using=batch.using):
            return bool(_retried(batch, [job_id]))
    except IntegrityError:
        blocked |= _without_rivals([job_id], using=batch.using)[1]
        return False


def _without_rivals(ids: Collection[int], *, using: str) -> tuple[list[int], dict[int, int]]:
    """Split retryable ``ids`` into those whose unique key is free, one for each key, and those another job stands in for."""
    retryable = Job.objects.using(using).filter(Among("pk", ids), state__in=states.RETRY.sources)
    keys = dict(retryable.order_by("-pk").values_list("pk", "unique_key"))
    wanted = {key for key in keys.values() if key is not None}
    live = Job.objects.using(using).filter(unique_key__in=wanted, state__in=LIVE)
    holders = dict(live.values_list("unique_key", "pk"))
    free: list[int] = []
    blocked: dict[int, int] = {}
    for job_id, key in keys.items():
        if key in holders:
            blocked[job_id] = holders[key]
        else:
            free.append(job_id)
            if key is not None:
                holders[key] = job_id
    return free, blocked
