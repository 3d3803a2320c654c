"""One decision about all jobs that match: written down, then carried out at once or by a job of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import router, transaction
from django.db.models import Exists, OuterRef, Q

from .. import clock
from ..models import BulkOperation, Job
from ..specs import JobSpec
from ..states import LIVE, State
from ..stats import Selection, ShownState
from ..translating import gettext_noop
from .batches import Report
from .decision import Actor, Decision
from .jobs import cancel, discard, retry, trigger
from .rescheduling import postpone, reroute
from .rescuing import rescue

Action = BulkOperation.Action
Status = BulkOperation.Status

KIND = "jobs.bulk"
QUEUE = "jobs.bulk"
# What is no more than this is done while the person waits.
MOST_AT_ONCE = 1_000
LONGEST_REQUEST_SECONDS = 3_600
# Stored as it is, and translated for whoever reads it.
GONE = gettext_noop("What carried it out is gone.")
VIEW = "jobs.view_job"

_WAITING = (ShownState.SCHEDULED, ShownState.BACKING_OFF, ShownState.PENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkAction:
    """What is done, to jobs of which states, and the permission that a person needs for it."""

    operation: Callable[..., Report]
    states: tuple[ShownState, ...]
    permission: str


BULK_ACTIONS: Mapping[str, BulkAction] = {
    Action.RETRY: BulkAction(
        operation=retry, states=(ShownState.DEAD, ShownState.CANCELLED), permission="jobs.retry_job"
    ),
    Action.TRIGGER: BulkAction(
        operation=trigger, states=(ShownState.SCHEDULED, ShownState.BACKING_OFF), permission="jobs.reschedule_job"
    ),
    Action.POSTPONE: BulkAction(operation=postpone, states=_WAITING, permission="jobs.reschedule_job"),
    Action.REROUTE: BulkAction(operation=reroute, states=_WAITING, permission="jobs.reschedule_job"),
    Action.CANCEL: BulkAction(operation=cancel, states=(*_WAITING, ShownState.RUNNING), permission="jobs.cancel_job"),
    Action.RESCUE: BulkAction(operation=rescue, states=(ShownState.RUNNING,), permission="jobs.rescue_job"),
    Action.DISCARD: BulkAction(operation=discard, states=(ShownState.DEAD,), permission="jobs.discard_job"),
}


def plan(
    action: str,
    selection: Selection,
    parameters: Mapping[str, Any],
    *,
    matched: int | None = None,
    actor: Actor | None = None,
    reason: str = "",
    using: str = "",
) -> BulkOperation:
    """
    Write down that ``action`` is to be done to all jobs of ``selection``; nothing is done yet.

    ``parameters`` are those of the operation, as JSON; ``matched`` says how
    many jobs there are, if that is known.
    """
    decision = Decision.of(actor, reason)
    alias = using or router.db_for_write(BulkOperation)
    row = BulkOperation(
        action=action,
        parameters=dict(parameters),
        filter=dict(selection.filter),
        states=list(selection.states),
        max_id=selection.max_id,
        frozen_at=selection.at,
        actor_id=decision.actor.id,
        actor_label=decision.actor.label,
        reason=decision.reason,
        matched=matched,
        created_at=clock.now(),
    )
    row.save(using=alias)
    row.refresh_from_db(using=alias)
    return row


def hand_over(row: BulkOperation) -> Job:
    """Let a worker carry it out, and return the job that does."""
    using = row._state.db or router.db_for_write(BulkOperation)
    spec = JobSpec(KIND, {"operation": row.pk}, queue=QUEUE)
    with transaction.atomic(using=using):
        job = Job.objects.using(using).enqueue(spec)
        BulkOperation.objects.using(using).filter(pk=row.pk).update(job=job)
    row.job = job
    return job


def stop(row: BulkOperation, *, actor: Actor | None = None) -> bool:
    """Let it end before its next chunk, or not begin at all; say whether it had not ended, nor been stopped, before."""
    using = row._state.db or router.db_for_write(BulkOperation)
    decision = Decision.of(actor, "")
    asked = _open(using).filter(pk=row.pk, stop_requested_at__isnull=True)
    if not asked.update(stop_requested_at=clock.now(), stopped_by=decision.actor.label):
        return False
    begun = _open(using).filter(pk=row.pk, status=Status.WAITING)
    if begun.update(status=Status.STOPPED, finished_at=clock.now()) and row.job_id is not None:
        cancel(Job.objects.using(using).filter(pk=row.job_id), actor=actor)
    return True


def close_abandoned(*, using: str) -> int:
    """End what its job has left, by dying, or because somebody cancelled it, and what a web process left; return how many."""
    alive = Job.objects.using(using).filter(pk=OuterRef("job_id"), state__in=LIVE)
    long_ago = Q(created_at__lt=clock.in_seconds(-LONGEST_REQUEST_SECONDS))
    abandoned = _open(using).filter(~Exists(alive), Q(job_id__isnull=False) | long_ago)
    return sum(_close(row, using) for row in abandoned)


def _close(row: BulkOperation, using: str) -> int:
    own = Job.objects.using(using).filter(pk=row.job_id or 0).values_list("state", "error")
    state, error = own.first() or ("", "")
    status = Status.STOPPED if state == State.CANCELLED else Status.FAILED
    # Unless it has gone on meanwhile, because somebody retried its job.
    same = _open(using).filter(pk=row.pk, **place(row.last_id))
    closed: int = same.update(status=status, finished_at=clock.now(), error=error or GONE)
    return closed


def place(last_id: int | None) -> dict[str, Any]:
    """Return the filter for an operation that has come just so far."""
    return {"last_id__isnull": True} if last_id is None else {"last_id": last_id}


def _open(using: str) -> Any:
    return BulkOperation.objects.using(using).filter(status__in=BulkOperation.OPEN)
