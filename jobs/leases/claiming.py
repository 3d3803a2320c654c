"""Giving ready jobs to a worker."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any

from django.db import connections, transaction
from django.db.models import F

from .. import clock, sql, states
from ..models import Job
from ..models.job import READY
from ..models.queryset import JobQuerySet
from ..options import HIGHEST
from ..outcomes import EXPIRED
from ..states import State
from .claimed import Claimed, as_claimed
from .settlement import Lease
from .trail import Trail


def claim(
    worker: str,
    queues: Sequence[str] = (),
    *,
    slots: int,
    ahead: int = 0,
    paused: Collection[str] = (),
    trail: Trail | None = None,
    lease_seconds: float,
    using: str,
) -> tuple[list[Claimed], list[Claimed]]:
    """
    Give ``worker`` ready jobs: up to ``slots`` that start now, and up to ``ahead`` more to start later.

    Highest priority first, then oldest ``run_at``; with ``queues`` (strict
    order), all of the first before any of the second. Skips rows that others
    have locked, so it never waits. The first list has ``started_at`` set; the
    second has not, and an expired lease will cost those jobs nothing. A job
    that was stranded once before is only given a slot, and one with losses
    only by ``claim_suspect``. Jobs past their ``expires_at`` are cancelled.
    With a ``trail``, which remembers where claims ended, those after a slow
    one may go on from there.
    """
    trail = trail or Trail()
    with transaction.atomic(using=using):
        rows: list[Claimed] = []
        for name, source in _sources(queues, paused, using=using):
            others = source.exclude(pk__in=[row.job_id for row in rows]) if rows else source
            rows += trail.lock(name, others, slots + ahead - len(rows), by=_locked)
            if len(rows) >= slots + ahead:
                break
        ready = _without_expired(rows, using=using)
        now, later = _shared_out(ready, slots=slots, ahead=ahead)
        _take(now, later, worker, lease_seconds=lease_seconds, using=using)
    return now, later


def claim_suspect(
    worker: str, queues: Sequence[str] = (), *, paused: Collection[str] = (), lease_seconds: float, using: str
) -> list[Claimed]:
    """
    Give ``worker`` at most one ready job that workers have died of before.

    The caller must hold nothing else, and start nothing beside it, so that
    the next death has one possible cause.
    """
    with transaction.atomic(using=using):
        ready = _without_expired(_locked(as_claimed(suspects(queues, paused=paused, using=using)), 1), using=using)
        _take(ready, [], worker, lease_seconds=lease_seconds, using=using)
    return ready


def suspects(queues: Sequence[str] = (), *, paused: Collection[str] = (), using: str) -> JobQuerySet:
    """Return the ready jobs that workers have died of, in the order of the claim."""
    ready = _ordered(Job.objects.using(using).filter(state=State.PENDING, losses__gt=0)).exclude(queue__in=list(paused))
    return ready.filter(queue__in=list(queues)) if queues else ready


def stray_leases(worker: str, held: Collection[Lease], *, using: str) -> list[Lease]:
    """Return the leases that the database says ``worker`` has but the worker does not know of, as after a lost COMMIT."""
    stored = Job.objects.using(using).running().filter(lease_owner=worker).values_list("pk", "claim_no")
    return [lease for lease in (Lease(*row) for row in stored) if lease not in held]


def _ordered(jobs: JobQuerySet) -> JobQuerySet:
    return jobs.order_by(F("priority").desc(), "run_at", "pk")


def _sources(queues: Sequence[str], paused: Collection[str], *, using: str) -> Iterator[tuple[str, JobQuerySet]]:
    """Yield querysets by queue, each flat through one index, whose rows together come in the order of the claim."""
    ready = _ready(using)
    if queues:
        yield from ((queue, ready.filter(queue=queue)) for queue in queues if queue not in paused)
    elif not paused:
        yield "", ready
    else:
        yield from _levels(ready, paused, using=using)


def _levels(ready: JobQuerySet, paused: Collection[str], *, using: str) -> Iterator[tuple[str, JobQuerySet]]:
    """Yield what is ready in queues that are not paused, priority by priority, the queue with the oldest job first."""
    below = HIGHEST + 1
    while heads := [head for head in _heads(below, using=using) if head[0] not in paused]:
        below = heads[0][1]
        yield from ((queue, ready.filter(queue=queue, priority=below)) for queue, best in heads if best == below)


def _heads(below: int, *, using: str) -> list[tuple[str, int]]:
    """Return the queues that have ready jobs below a priority, and the best priority of those in each."""
    return [(queue, best) for queue, best in sql.fetch(connections[using], sql.QUEUE_HEADS, {"below": below})]


@cache
def _ready(using: str) -> Any:
    """Return what ordinary claims take from. Kept, since to build it takes longer than to run it."""
    return as_claimed(_ordered(Job.objects.using(using).filter(READY)))


def _locked(source: Any, limit: int) -> list[Claimed]:
    return [Claimed._make(row) for row in source[:limit]]


def _without_expired(rows: list[Claimed], *, using: str) -> list[Claimed]:
    expired = [row.job_id for row in rows if row.is_expired]
    if not expired:
        return rows
    Job.objects.using(using).filter(pk__in=expired).move(states.EXPIRE, finished_at=clock.now(), error=EXPIRED)
    return [row for row in rows if not row.is_expired]


def _shared_out(rows: list[Claimed], *, slots: int, ahead: int) -> tuple[list[Claimed], list[Claimed]]:
    now, rest = rows[:slots], rows[slots:]
    return now, [row for row in rest if not row.stranded][:ahead]


def _take(now: list[Claimed], later: list[Claimed], worker: str, *, lease_seconds: float, using: str) -> None:
    """Give the worker the leases of rows locked in this transaction: in one statement on PostgreSQL, through the ORM elsewhere."""
    if not now and not later:
        return
    connection = connections[using]
    ids = {"now": [row.job_id for row in now], "later": [row.job_id for row in later]}
    if connection.vendor == "postgresql":
        sql.fetch(connection, sql.TAKE_POSTGRESQL, ids | {"worker": worker, "lease_seconds": lease_seconds})
        return
    for name, started_at in (("now", clock.now()), ("later", None)):
        Job.objects.using(using).filter(pk__in=ids[name]).move(
            states.CLAIM,
            claim_no=F("claim_no") + 1,
            attempt=F("attempt") + 1,
            lease_owner=worker,
            lease_expires_at=clock.in_seconds(lease_seconds),
            started_at=started_at,
        )
