"""
What any worker does for all: promote due jobs, expire late ones, prune old ones, resume queues.

Every duty works in small batches, each its own transaction, skips rows that
others hold, and is safe when several workers do it at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, OperationalError, connections, transaction
from django.db.models import Exists, F, QuerySet
from django.db.models.functions import Coalesce

from . import clock, sql, states
from .conf import settings
from .models import BulkOperation, Job, JobEvent, JobRun, Queue, Worker
from .models.job import READY as READY_JOBS
from .models.locking import unlocked
from .outcomes import EXPIRED, UNKNOWN_KIND_PAUSE
from .states import State
from .wakeups import READY, Wakeup, announce

CHUNK = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """
    Which duties have something to do. ``next_run_in`` is seconds to the next
    scheduled job, ``next_slot_in`` to the next run of a schedule (0 or less:
    one is due, or to be planned); None without one. ``paused`` are the queues
    that workers must leave alone.
    """

    pending: bool
    suspects: bool
    expired_leases: bool
    next_run_in: float | None
    next_slot_in: float | None
    waiting_slots: bool
    paused: frozenset[str]


def survey(*, using: str) -> Survey:
    """Look, in one autocommit SELECT, for anything a worker could do."""
    connection = connections[using]
    ((pending, suspects, expired, next_run_in, next_slot_in, waiting, paused),) = sql.fetch(
        connection, sql.SURVEY[connection.vendor]
    )
    return Survey(
        pending=bool(pending),
        suspects=bool(suspects),
        expired_leases=bool(expired),
        next_run_in=next_run_in,
        next_slot_in=next_slot_in,
        waiting_slots=bool(waiting),
        # No name of a queue has a comma.
        paused=frozenset(paused.split(",") if paused else ()),
    )


def has_work(worker: str, queues: Collection[str], *, using: str) -> bool:
    """
    Say whether anything is due that ``worker`` could run, or is claimed by it, in one SELECT.

    One snapshot, since a job on its way from scheduled to pending to running
    would slip between three.
    """
    jobs = Job.objects.using(using)
    ready = jobs.pending().exclude(queue__in=Queue.objects.using(using).paused().values("name"))
    if queues:
        ready = ready.filter(queue__in=queues)
    seen = (
        Worker.objects.using(using)
        .filter(name=worker)
        .values_list(Exists(ready), Exists(jobs.due()), Exists(jobs.running().filter(lease_owner=worker)))
    )
    # Until its heartbeat has written it anew, a worker without a row knows nothing.
    return any(any(row) for row in seen or [(True,)])


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


def put_off(kinds: Collection[str], *, limit: int = CHUNK, using: str) -> int:
    """Schedule up to ``limit`` pending jobs of ``kinds``, which nobody here can run, for a little later."""
    with transaction.atomic(using=using):
        grace_begins = clock.in_seconds(-settings.unknown_kind_grace_seconds)
        waiting = Job.objects.using(using).filter(READY_JOBS, kind__in=kinds).exclude(unknown_since__lt=grace_begins)
        ids = list(waiting.order_by(F("priority").desc(), "run_at", "pk").locked().values_list("pk", flat=True)[:limit])
        return (
            Job.objects.using(using)
            .filter(pk__in=ids)
            .move(
                states.POSTPONE,
                run_at=clock.in_seconds(UNKNOWN_KIND_PAUSE),
                unknown_since=Coalesce(F("unknown_since"), clock.now()),
            )
        )


def meet_queues(names: Collection[str], *, using: str) -> bool:
    """
    See that each of these queues has its row, for people to find and pause it; say whether that is so now.

    Gives up after a moment where somebody else is just inserting one.
    """
    connection = connections[using]
    try:
        with transaction.atomic(using=using):
            if connection.vendor == "postgresql":
                sql.run(connection, sql.PATIENCE_POSTGRESQL)
            Queue.objects.using(using).bulk_create((Queue(name=name) for name in names), ignore_conflicts=True)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != sql.LOCK_NOT_AVAILABLE:
            raise
        return False
    return True


def resume_queues(*, using: str) -> list[str]:
    """Clear the pause of queues whose ``resume_at`` has passed, with an event each; return their names."""
    resumed = []
    for name in Queue.objects.using(using).overdue().values_list("name", flat=True):
        with transaction.atomic(using=using):
            overdue = unlocked(Queue.objects.using(using).overdue().filter(name=name))
            ids = list(overdue.values_list("pk", flat=True))
            if ids:
                Queue.objects.using(using).filter(pk__in=ids).update(
                    paused_at=None, paused_by="", pause_reason="", resume_at=None
                )
                JobEvent.objects.using(using).create(
                    at=clock.now(), kind=JobEvent.Kind.RESUMED, queue=name, reason="Its resume time came."
                )
                resumed.append(name)
    return resumed


def prunable(*, using: str) -> dict[str, int]:
    """Count what ``prune`` would delete now, by retention key. Exact, so slow on large tables: for people, not workers."""
    return {name: sum(old.count() for old in _old(name, kept, using=using)) for name, kept in _limited_retention()}


def prune(*, limit: int = CHUNK, using: str) -> Iterator[tuple[str, int]]:
    """
    Delete what is older than ``JOBS["RETENTION"]``, yielding (retention key, rows deleted) after each batch.

    A batch is at most ``limit`` rows and one transaction. Jobs go together
    with their runs and events; a job that somebody holds a lock on, or that
    a row of the site refers to, is left.
    """
    for name, kept in _limited_retention():
        for old in _old(name, kept, using=using):
            for deleted in _prune(old, limit, using=using):
                yield name, deleted


def _prune(old: QuerySet[Any], limit: int, *, using: str) -> Iterator[int]:
    """Delete these rows, yielding how many after each batch."""
    protected: list[int] = []
    more = True
    while more:
        with transaction.atomic(using=using):
            if old.model is Job:
                deleted, more = _delete_jobs(old.exclude(pk__in=protected), limit, protected, using=using)
            else:
                deleted, more = _delete_by_age(old, limit)
        if deleted:
            yield deleted


def _limited_retention() -> list[tuple[str, float]]:
    return [(name, kept) for name, kept in settings.retention.items() if kept is not None]


def _old(name: str, kept: float, *, using: str) -> list[QuerySet[Any]]:
    cutoff = clock.in_seconds(-kept)
    match name:
        case "runs":
            return [JobRun.objects.using(using).filter(finished_at__lt=cutoff)]
        case "events":
            ended = BulkOperation.objects.using(using).filter(finished_at__lt=cutoff)
            return [JobEvent.objects.using(using).filter(at__lt=cutoff), ended]
        case "workers":
            # Never one that may still be at work.
            return [
                Worker.objects.using(using).filter(
                    heartbeat_at__lt=clock.in_seconds(-max(kept, settings.lease_seconds))
                )
            ]
        case _:
            return [Job.objects.using(using).filter(state=name, finished_at__isnull=False, finished_at__lt=cutoff)]


def _delete_jobs(old: Any, limit: int, protected: list[int], *, using: str) -> tuple[int, bool]:
    """Delete one batch; add to ``protected`` what the site refers to; say how many went, and whether to go on."""
    ids = list(old.order_by("finished_at", "pk").locked(of_any_key=True).values_list("pk", flat=True)[:limit])
    return _delete_unprotected(ids, protected, using=using), len(ids) == limit


def _delete_unprotected(ids: list[int], protected: list[int], *, using: str) -> int:
    if not ids:
        return 0
    try:
        with transaction.atomic(using=using):
            for related in (JobRun, JobEvent):
                rows: Any = related.objects.using(using).filter(job_id__in=ids)
                rows._raw_delete(using)
            Job.objects.using(using).filter(pk__in=ids)._raw_delete(using)
            # A site's foreign keys are checked at COMMIT, which would be too late to leave a row out.
            connections[using].check_constraints()
    except IntegrityError:
        if len(ids) == 1:
            protected += ids
            return 0
        middle = len(ids) // 2
        halves = (ids[:middle], ids[middle:])
        return sum(_delete_unprotected(half, protected, using=using) for half in halves)
    return len(ids)


def _delete_by_age(old: Any, limit: int) -> tuple[int, bool]:
    """Delete the oldest rows by id, which is their order in time too, so that no index by age is needed."""
    oldest = list(old.model.objects.using(old.db).order_by("pk").values_list("pk", flat=True)[:limit])
    ids = list(unlocked(old.filter(pk__in=oldest)).values_list("pk", flat=True))
    old.model.objects.using(old.db).filter(pk__in=ids)._raw_delete(old.db)
    return len(ids), bool(ids) and len(oldest) == limit
