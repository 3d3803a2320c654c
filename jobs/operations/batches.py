"""Working through jobs by the thousand: a short transaction for each batch, and never a wait for a lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from .. import registry
from ..models import Job
from ..models.among import Among
from ..models.queryset import JobQuerySet
from ..states import Move, State
from ..wakeups import Wakeup, announce
from .decision import Decision

CHUNK = 1_000
TURNS = 5
TURN_SECONDS = 0.05


@dataclass(slots=True)
class Report:
    """
    ``moved`` jobs changed; ``asked`` running ones were asked to stop;
    ``skipped`` were in no state for it, or locked by somebody; ``forbidden``
    are of kinds that the actor may not start; ``blocked_by`` maps a job that
    was left to the live job that holds its unique key.
    """

    moved: int = 0
    asked: int = 0
    skipped: int = 0
    forbidden: int = 0
    blocked_by: dict[int, int] = field(default_factory=dict)

    @property
    def handled(self) -> int:
        return self.moved + self.asked + self.forbidden + len(self.blocked_by)

    def include(self, other: Report) -> None:
        """Add what another report says."""
        self.moved += other.moved
        self.asked += other.asked
        self.skipped += other.skipped
        self.forbidden += other.forbidden
        self.blocked_by |= other.blocked_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some ids to work on inside one transaction, the decision behind it, and the report to add to."""

    ids: Collection[int]
    decision: Decision
    report: Report
    using: str

    def locked(self, sources: Collection[State]) -> JobQuerySet:
        """Lock those jobs of the batch that are in one of these states and that nobody else has locked."""
        return Job.objects.using(self.using).filter(Among("pk", self.ids), state__in=sources).lock()

    def jobs(self, ids: Collection[int]) -> JobQuerySet:
        return Job.objects.using(self.using).filter(Among("pk", ids))

    def move(self, move: Move, **changes: Any) -> list[int]:
        """Lock those that may make ``move``, make it, and return their ids."""
        ids = list(self.locked(move.sources).values_list("pk", flat=True))
        self.jobs(ids).move(move, **changes)
        return ids

    def record(self, kind: str, ids: Collection[int]) -> None:
        self.decision.record(kind, ids, using=self.using)

    def announce(self, *wakeups: Wakeup) -> None:
        announce(wakeups, using=self.using)


# Returns the ids that are done with; the others are tried again for a moment.
Work = Callable[[Batch], Collection[int]]


def work_through(
    jobs: JobQuerySet, work: Work, *, sources: Collection[State], decision: Decision, starts: bool = False
) -> Report:
    """Do ``work`` to all of ``jobs``, a batch at a time. What ``starts`` a job minds the permission of its kind."""
    report, using = Report(), jobs.write_alias
    barred = registry.barred(decision.actor.permits) if starts else []
    for ids in _id_chunks(jobs.using(using)):
        allowed = _without_barred(ids, barred, report, using=using)
        _work_in_turns(allowed, work, sources, decision, report, using=using)
        report.skipped += len(ids)
    report.skipped -= report.handled
    return report


def _without_barred(ids: list[int], barred: list[str], report: Report, *, using: str) -> list[int]:
    if not barred:
        return ids
    left = set(Job.objects.using(using).filter(Among("pk", ids), kind__in=barred).values_list("pk", flat=True))
    report.forbidden += len(left)
    return [job_id for job_id in ids if job_id not in left]


def _work_in_turns(
    ids: Collection[int],
    work: Work,
    sources: Collection[State],
    decision: Decision,
    report: Report,
    *,
    using: str,
) -> None:
    for turn in range(TURNS):
        with transaction.atomic(using=using):
            handled = work(Batch(ids=ids, decision=decision, report=report, using=using))
        ids = _still_in(sources, set(ids) - set(handled), using=using)
        if not ids:
            return
        # A claim or a settle has the row for a moment; a site's transaction may have it for long.
        time.sleep(TURN_SECONDS * turn)


def _still_in(sources: Collection[State], ids: Collection[int], *, using: str) -> list[int]:
    if not ids:
        return []
    left = Job.objects.using(using).filter(Among("pk", ids), state__in=sources, cancel_requested_at__isnull=True)
    return list(left.values_list("pk", flat=True))


def _id_chunks(jobs: JobQuerySet) -> Iterator[list[int]]:
    """Yield ids newest first, by key and not by offset, so that rows which leave the filter meanwhile shift nothing."""
    if jobs.query.is_sliced:
        ids = list(jobs.values_list("pk", flat=True))
        yield from (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
        return
    below: int | None = None
    while True:
        chunk = jobs.order_by("-pk") if below is None else jobs.order_by("-pk").filter(pk__lt=below)
        ids = list(chunk.values_list("pk", flat=True)[:CHUNK])
        if ids:
            yield ids
        if len(ids) < CHUNK:
            return
        below = ids[-1]
