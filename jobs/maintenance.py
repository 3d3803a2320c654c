"""
What any worker does for all: promote due jobs, expire late ones, prune old ones, resume queues.

Every duty works in small batches, each its own transaction, skips rows that
others hold, and is safe when several workers do it at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.db.models import QuerySet

from . import clock, sql, states
from .conf import settings
from .models import Job, JobEvent, JobRun, Queue, Worker
from .outcomes import EXPIRED
from .states import State
from .wakeups import READY, Wakeup, announce

CHUNK = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Which duties have something to do; ``next_run_in`` is seconds to the next scheduled job, None without one."""

    pending: bool
    suspects: bool
    expired_leases: bool
    next_run_in: float | None


def survey(*, using: str) -> Survey:
    """Look, in one autocommit SELECT, for anything a worker could do."""
    connection = connections[using]
    ((pending, suspects, expired_leases, next_run_in),) = sql.fetch(connection, sql.SURVEY[connection.vendor])
    return Survey(
        pending=bool(pending), suspects=bool(suspects), expired_leases=bool(expired_leases), next_run_in=next_run_in
    )


def promote(*, limit: int = CHUNK, using: str) -> int:
    """Make up to ``limit`` due scheduled jobs pending, earliest first; return how many."""
    with transaction.atomic(using=using):
        due = Job.objects.using(using).due().order_by("run_at", "pk").locked()
        ids = list(due.values_list("pk", flat=True)[:limit])
        if not ids:
            return 0
        announce([Wakeup(READY)], using=using)
        return Job.objects.using(using).filter(pk__in=ids).move(states.PROMOTE)


def expire(*, limit: int = CHUNK, using: str) -> int:
    """Cancel up to ``limit`` jobs whose ``expires_at`` passed before they started; return how many."""
    with transaction.atomic(using=using):
        late = Job.objects.using(using).filter(expires_at__lte=clock.now(), state__in=[State.SCHEDULED, State.PENDING])
        ids = list(late.order_by("expires_at").locked().values_list("pk", flat=True)[:limit])
        if not ids:
            return 0
        jobs = Job.objects.using(using).filter(pk__in=ids)
        return jobs.move(states.EXPIRE, finished_at=clock.now(), error=EXPIRED)


def resume_queues(*, using: str) -> list[str]:
    """Clear the pause of queues whose ``resume_at`` has passed, with an event each; return their names."""
    resumed = []
    for name in Queue.objects.using(using).overdue().values_list("name", flat=True):
        with transaction.atomic(using=using):
            overdue = Queue.objects.using(using).overdue().filter(name=name)
            if overdue.update(paused_at=None, paused_by="", pause_reason="", resume_at=None):
                JobEvent.objects.using(using).create(
                    at=clock.now(), kind=JobEvent.Kind.RESUMED, queue=name, reason="Its resume time came."
                )
                resumed.append(name)
    return resumed


def prunable(*, using: str) -> dict[str, int]:
    """Count what ``prune`` would delete now, by retention key. Exact, so slow on large tables: for people, not workers."""
    return {name: _old(name, kept, using=using).count() for name, kept in _limited_retention()}


def prune(*, limit: int = CHUNK, using: str) -> Iterator[tuple[str, int]]:
    """
    Delete what is older than ``JOBS["RETENTION"]``, yielding (retention key, rows deleted) after each batch.

    A batch is at most ``limit`` rows and one transaction. Jobs go together
    with their runs and events; a job that somebody holds a lock on is left.
    """
    for name, kept in _limited_retention():
        while True:
            with transaction.atomic(using=using):
                deleted = _delete_batch(name, _old(name, kept, using=using), limit, using=using)
            if deleted:
                yield name, deleted
            if deleted < limit:
                break


def _limited_retention() -> list[tuple[str, float]]:
    return [(name, kept) for name, kept in settings.retention.items() if kept is not None]


def _old(name: str, kept: float, *, using: str) -> QuerySet[Any]:
    cutoff = clock.in_seconds(-kept)
    match name:
        case "runs":
            return JobRun.objects.using(using).filter(finished_at__lt=cutoff)
        case "events":
            return JobEvent.objects.using(using).filter(at__lt=cutoff)
        case "workers":
            return Worker.objects.using(using).filter(heartbeat_at__lt=cutoff)
        case _:
            return Job.objects.using(using).filter(state=name, finished_at__isnull=False, finished_at__lt=cutoff)


def _delete_batch(name: str, old: Any, limit: int, *, using: str) -> int:
    if old.model is not Job:
        return _delete_by_age(old, limit)
    ids = list(old.order_by("finished_at", "pk").locked(of_any_key=True).values_list("pk", flat=True)[:limit])
    for related in (JobRun, JobEvent):
        rows: Any = related.objects.using(using).filter(job_id__in=ids)
        rows._raw_delete(using)
    Job.objects.using(using).filter(pk__in=ids)._raw_delete(using)
    return len(ids)


def _delete_by_age(old: Any, limit: int) -> int:
    """Delete the oldest rows by id, which is their order in time too, so that no index by age is needed."""
    oldest = old.model.objects.using(old.db).order_by("pk").values_list("pk", flat=True)[:limit]
    ids = list(old.filter(pk__in=list(oldest)).values_list("pk", flat=True))
    old.model.objects.using(old.db).filter(pk__in=ids)._raw_delete(old.db)
    return len(ids)
