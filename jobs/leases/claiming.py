"""Giving ready jobs to a worker."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.db import connections, transaction
from django.db.models import DurationField, ExpressionWrapper, F, TextField
from django.db.models.functions import Cast

from .. import clock, sql, states
from ..models import Job
from ..models.job import READY
from ..models.queryset import JobQuerySet
from ..options import HIGHEST
from ..outcomes import EXPIRED
from ..retry import Backoff
from ..states import State
from .settlement import Lease
from .trail import Place, Trail

J = TypeVar("J", list[Any], dict[str, Any])


class Claimed(NamedTuple):
    """A job as its worker got it: ``claim_no`` and ``attempt`` are those of this claim."""

    job_id: int
    claim_no: int
    attempt: int
    kind: str
    args_text: str
    payload_text: str
    queue: str
    max_attempts: int
    backoff_base: float
    backoff_cap: float
    backoff_jitter: float
    timeout: float | None
    enqueued_at: datetime
    metadata_text: str
    losses: int
    stranded: int
    expires_in: timedelta | None
    cron_id: int | None
    scheduled_for: datetime | None
    priority: int
    run_at: datetime

    @property
    def place(self) -> Place:
        return Place(self.priority, self.run_at, self.job_id)

    @property
    def args(self) -> list[Any]:
        return _loaded(self.args_text, [])

    @property
    def payload(self) -> dict[str, Any]:
        return _loaded(self.payload_text, {})

    @property
    def metadata(self) -> dict[str, Any]:
        return _loaded(self.metadata_text, {})

    @property
    def backoff(self) -> Backoff:
        return Backoff.stored(self.backoff_base, self.backoff_cap, self.backoff_jitter)

    @property
    def lease(self) -> Lease:
        return Lease(self.job_id, self.claim_no)

    @property
    def is_expired(self) -> bool:
        return self.expires_in is not None and self.expires_in <= timedelta(0)


def _loaded(text: str, empty: J) -> J:
    if len(text) <= len("{}"):
        return empty
    loaded: J = json.loads(text)
    return loaded


COLUMNS = (
    "id",
    "next_claim_no",
    "next_attempt",
    "kind",
    "args_text",
    "payload_text",
    "queue",
    "max_attempts",
    "backoff_base",
    "backoff_cap",
    "backoff_jitter",
    "timeout",
    "enqueued_at",
    "metadata_text",
    "losses",
    "stranded",
    "expires_in",
    "cron_id",
    "scheduled_for",
    "priority",
    "run_at",
)


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
        ready = _without_expired(_locked(_as_claimed(suspects(queues, paused=paused, using=using)), 1), using=using)
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
    return _as_claimed(_ordered(Job.objects.using(using).filter(READY)))


def _as_claimed(jobs: JobQuerySet) -> Any:
    """Return the rows of jobs, locked, as ``Claimed`` has them."""
    return (
        jobs.locked()
        .annotate(
            next_claim_no=F("claim_no") + 1,
            next_attempt=F("attempt") + 1,
            # As text: parsed by the slot that runs the job, and not at all where empty.
            args_text=Cast("args", TextField()),
            payload_text=Cast("payload", TextField()),
            metadata_text=Cast("metadata", TextField()),
            expires_in=ExpressionWrapper(F("expires_at") - clock.now(), output_field=DurationField()),
        )
        .values_list(*COLUMNS)
    )


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
