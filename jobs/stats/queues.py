"""How queues stand: what waits in each and for how long, what runs, and who serves it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connections
from django.db.models import DurationField, ExpressionWrapper, F, OuterRef

from .. import clock, sql
from ..models import Job, Queue, Worker
from . import counts
from .counts import CLAIM_ORDER, Count

# Of what no index has by queue, so many are looked through.
WINDOW = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A job that waits to be claimed, and for how long it has been due."""

    id: int
    kind: str
    priority: int
    due_for: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """
    How one queue stands. ``heads`` are its oldest jobs, one for each priority
    in use and one of those whose workers died; ``serving`` are the live
    workers that claim from it.
    """

    pending: Count
    running: Count
    heads: tuple[Waiting, ...] = ()
    serving: tuple[Worker, ...] = ()

    @property
    def oldest(self) -> Waiting | None:
        return max(self.heads, key=lambda job: job.due_for, default=None)

    @property
    def oldest_due_for(self) -> timedelta | None:
        return self.oldest.due_for if self.oldest else None

    @property
    def slots(self) -> int:
        return sum(worker.concurrency for worker in self.serving)


def loads(names: Sequence[str], *, using: str) -> dict[str, Load]:
    """Return how each of these queues stands: five queries, however many they are."""
    ready, oldest = _ready(names, using), _oldest(names, using)
    suspects = _suspects(using)
    running = Counter(_some_running(using))
    crew = live_crew(using=using)
    is_capped = running.total() > counts.MOST
    return {
        name: Load(
            pending=Count.of(ready.get(name, 0) + sum(queue == name for queue, _ in suspects)),
            running=Count(running[name], is_capped),
            heads=(*oldest.get(name, ()), *[job for queue, job in suspects if queue == name][:1]),
            serving=tuple(worker for worker in crew if serves(worker, name)),
        )
        for name in names
    }


def live_crew(*, using: str) -> list[Worker]:
    """Return the live workers that still claim (one query)."""
    return list(Worker.objects.using(using).live().filter(draining_at__isnull=True).defer("kinds").order_by("name"))


def serves(worker: Worker, queue: str) -> bool:
    return not worker.queues or queue in worker.queues


def _ready(names: Iterable[str], using: str) -> dict[str, int]:
    jobs = Job.objects.using(using).pending().filter(losses=0, queue=OuterRef("name"))
    counted: Any = counts.Counted(counts.some(jobs, CLAIM_ORDER))
    queues = Queue.objects.using(using).filter(name__in=list(names)).order_by("name")
    return dict(queues.annotate(ready=counted).values_list("name", "ready"))


def _oldest(names: Sequence[str], using: str) -> dict[str, list[Waiting]]:
    connection = connections[using]
    rows = sql.fetch(connection, sql.OLDEST_READY[connection.vendor], {"queues": json.dumps(list(names))})
    found: dict[str, list[Waiting]] = {}
    for queue, priority, job_id, kind, seconds in rows:
        found.setdefault(queue, []).append(_waiting(job_id, kind, priority, timedelta(seconds=seconds)))
    return found


def _suspects(using: str) -> list[tuple[str, Waiting]]:
    """Return the jobs whose workers died while running them, which are few, as they are claimed."""
    jobs = with_due_for(Job.objects.using(using).pending().filter(losses__gt=0)).order_by(*CLAIM_ORDER)
    rows = jobs.values_list("queue", "pk", "kind", "priority", "due_for")[:WINDOW]
    return [(queue, _waiting(*row)) for queue, *row in rows]


def with_due_for(jobs: Any) -> Any:
    """Add ``due_for``: how long ago the time of each job came, by the database's clock."""
    return jobs.annotate(due_for=ExpressionWrapper(clock.now() - F("run_at"), output_field=DurationField()))


def _waiting(job_id: int, kind: str, priority: int, due_for: timedelta) -> Waiting:
    return Waiting(id=job_id, kind=kind, priority=priority, due_for=max(due_for, timedelta(0)))


def _some_running(using: str) -> Any:
    running = Job.objects.using(using).running().order_by("lease_owner", "pk")
    return running.values_list("queue", flat=True)[: counts.MOST + 1]
