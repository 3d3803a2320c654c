"""Retrying, cancelling and triggering jobs, one or a hundred thousand."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction

from .. import clock, states
from ..models import Job, JobEvent
from ..models.queryset import JobQuerySet
from ..states import LIVE, Move, State
from ..wakeups import CANCEL, READY, Wakeup, announce
from .decision import Actor, Decision

CHUNK = 1_000
TURNS = 5
TURN_SECONDS = 0.05


@dataclass(slots=True)
class Report:
    """
    ``moved`` jobs changed; ``asked`` running ones were asked to stop;
    ``skipped`` were in no state for it, or locked by somebody; ``blocked_by``
    maps a job that was left to the live job that holds its unique key.
    """

    moved: int = 0
    asked: int = 0
    skipped: int = 0
    blocked_by: dict[int, int] = field(default_factory=dict)


def retry(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """
    Make dead and cancelled jobs pending now, with a fresh budget of attempts and no losses.

    Of several jobs with one unique key the newest is taken; one whose key a
    live job holds is left. A second call finds nothing to move.
    """
    return _in_chunks(jobs, _retry_chunk, states.RETRY.sources, Decision.of(actor, reason))


def cancel(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """
    Cancel scheduled and pending jobs now; ask running ones to stop.

    A running job ends as cancelled when its handler obeys, or fails or is
    lost; one that succeeds first, succeeded.
    """
    return _in_chunks(jobs, _cancel_chunk, LIVE, Decision.of(actor, reason))


def trigger(jobs: JobQuerySet, *, actor: Actor | None = None, reason: str = "") -> Report:
    """Make scheduled jobs, backing-off ones included, pending now; attempts stay as they are."""
    return _in_chunks(jobs, _trigger_chunk, states.TRIGGER.sources, Decision.of(actor, reason))


Chunk = Callable[[Collection[int], Report, Decision, str], Collection[int]]


def _in_chunks(jobs: JobQuerySet, work: Chunk, sources: tuple[State, ...], decision: Decision) -> Report:
    report, using = Report(), jobs.write_alias
    for ids in _id_chunks(jobs.using(using)):
        left: Collection[int] = ids
        for turn in range(TURNS):
            with transaction.atomic(using=using):
                handled = work(left, report, decision, using)
            left = _still_in(sources, set(left) - set(handled), using=using)
            if not left:
                break
            # A claim or a settle has the row for a moment; a site's transaction may have it for long.
            time.sleep(TURN_SECONDS * turn)
        report.skipped += len(ids)
    report.skipped -= report.moved + report.asked + len(report.blocked_by)
    return report


def _still_in(sources: tuple[State, ...], ids: Collection[int], *, using: str) -> list[int]:
    if not ids:
        return []
    return list(
        Job.objects.using(using)
        .filter(pk__in=ids, state__in=sources, cancel_requested_at__isnull=True)
        .values_list("pk", flat=True)
    )


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


def _move(ids: Collection[int], move: Move, *, using: str, **changes: Any) -> list[int]:
    """Lock those of ``ids`` that may make ``move``, make it, and return their ids."""
    movable = Job.objects.using(using).filter(pk__in=ids, state__in=move.sources)
    locked = list(movable.lock().values_list("pk", flat=True))
    Job.objects.using(using).filter(pk__in=locked).move(move, **changes)
    return locked


def _trigger_chunk(ids: Collection[int], report: Report, decision: Decision, using: str) -> Collection[int]:
    moved = _move(ids, states.TRIGGER, using=using, run_at=clock.now())
    decision.record(JobEvent.Kind.TRIGGERED, moved, using=using)
    announce([Wakeup(READY)] if moved else [], using=using)
    report.moved += len(moved)
    return moved


def _cancel_chunk(ids: Collection[int], report: Report, decision: Decision, using: str) -> Collection[int]:
    why = decision.reason or "Cancelled."
    cancelled = _move(ids, states.CANCEL, using=using, finished_at=clock.now(), error=why)
    running = Job.objects.using(using).filter(pk__in=ids, state=State.RUNNING, cancel_requested_at__isnull=True)
    owners = dict(running.lock().values_list("pk", "lease_owner"))
    asked = list(owners)
    Job.objects.using(using).filter(pk__in=asked).update(cancel_requested_at=clock.now())
    announce({Wakeup(CANCEL, owner) for owner in owners.values()}, using=using)
    decision.record(JobEvent.Kind.CANCELLED, cancelled, using=using)
    decision.record(JobEvent.Kind.CANCEL_REQUESTED, asked, using=using)
    report.moved += len(cancelled)
    report.asked += len(asked)
    return cancelled + asked


def _retry_chunk(ids: Collection[int], report: Report, decision: Decision, using: str) -> Collection[int]:
    free, blocked = _without_rivals(ids, using=using)
    try:
        with transaction.atomic(using=using):
            moved = _retried(free, using=using)
    except IntegrityError:
        # Somebody enqueued one of these keys in between: find out which, one by one.
        moved = [job_id for job_id in free if _retried_alone(job_id, blocked, using=using)]
    decision.record(JobEvent.Kind.RETRIED, moved, using=using)
    announce([Wakeup(READY)] if moved else [], using=using)
    report.moved += len(moved)
    report.blocked_by |= blocked
    return moved + list(blocked)


def _retried(ids: Collection[int], *, using: str) -> list[int]:
    return _move(
        ids,
        states.RETRY,
        using=using,
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


def _retried_alone(job_id: int, blocked: dict[int, int], *, using: str) -> bool:
    try:
        with transaction.atomic(using=using):
            return bool(_retried([job_id], using=using))
    except IntegrityError:
        blocked |= _without_rivals([job_id], using=using)[1]
        return False


def _without_rivals(ids: Collection[int], *, using: str) -> tuple[list[int], dict[int, int]]:
    """Split retryable ``ids`` into those whose unique key is free, one for each key, and those another job stands in for."""
    retryable = Job.objects.using(using).filter(pk__in=ids, state__in=states.RETRY.sources)
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
