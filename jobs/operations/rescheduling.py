"""Giving jobs that wait another time, another queue or another priority."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Any

from .. import clock, registry, states
from ..admission import check_moment
from ..exceptions import InvalidJob
from ..models import JobEvent
from ..models.queryset import JobQuerySet
from ..options import check_priority, check_queue
from ..states import State
from ..wakeups import READY, SOON, Wakeup
from .batches import Batch, Report, work_through
from .decision import Actor, Decision

WAITING = (State.SCHEDULED, State.PENDING)


def postpone(jobs: JobQuerySet, *, run_at: datetime, actor: Actor | None = None, reason: str = "") -> Report:
    """
    Let jobs that wait, backing-off ones included, wait until ``run_at``, later or earlier than now.

    One that would expire before is left, and so is one that would run earlier
    than now and is of a kind whose permission the actor lacks. ``run_at`` is
    an aware datetime.
    """
    moment = check_moment(run_at, "run_at")
    decision = Decision.of(actor, reason)
    work = partial(_postpone, moment, frozenset(registry.barred(decision.actor.permits)))
    return work_through(jobs, work, sources=WAITING, decision=decision)


def reroute(
    jobs: JobQuerySet,
    *,
    queue: str | None = None,
    priority: int | None = None,
    actor: Actor | None = None,
    reason: str = "",
) -> Report:
    """Give jobs that wait another ``queue``, another ``priority``, or both; one that has them already is left."""
    changes: dict[str, Any] = {}
    if queue is not None:
        check_queue(queue)
        changes["queue"] = queue
    if priority is not None:
        check_priority(priority)
        changes["priority"] = priority
    if not changes:
        raise InvalidJob("reroute() was given neither a queue nor a priority: give one of them, or both.")
    return work_through(jobs, partial(_reroute, changes), sources=WAITING, decision=Decision.of(actor, reason))


def _postpone(run_at: datetime, barred: Collection[str], batch: Batch) -> Collection[int]:
    rows = list(batch.locked(WAITING).values_list("pk", "kind", "run_at", "expires_at"))
    # Earlier is much like now, for which the kind may have a permission of its own.
    forbidden = {job_id for job_id, kind, was, _ in rows if kind in barred and run_at < clock.aware(was)}
    changes = {
        job_id: {"run_at": [was.isoformat(), run_at.isoformat()]}
        for job_id, _, was, expires_at in rows
        if job_id not in forbidden and (expires_at is None or clock.aware(expires_at) > run_at)
    }
    jobs = batch.jobs(changes)
    jobs.filter(state=State.SCHEDULED).update(run_at=clock.at(run_at))
    jobs.move(states.POSTPONE, run_at=clock.at(run_at))
    batch.decision.record_changes(JobEvent.Kind.POSTPONED, changes, using=batch.using)
    batch.announce(Wakeup(SOON))
    batch.report.moved += len(changes)
    batch.report.forbidden += len(forbidden)
    return [job_id for job_id, *_ in rows]


def _reroute(new: dict[str, Any], batch: Batch) -> Collection[int]:
    rows = list(batch.locked(WAITING).values("pk", *new))
    changes = {
        row["pk"]: {name: [row[name], value] for name, value in new.items() if row[name] != value}
        for row in rows
        if any(row[name] != value for name, value in new.items())
    }
    batch.jobs(changes).update(**new)
    batch.decision.record_changes(JobEvent.Kind.REROUTED, changes, using=batch.using)
    batch.announce(Wakeup(READY, new.get("queue", "")))
    batch.report.moved += len(changes)
    return [row["pk"] for row in rows]
