"""Jobs as rows of a file: what the lists know of each, but not what it was given and what it returned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..models import Job
from ..models.queryset import JobQuerySet
from . import claim_order
from .excerpts import LARGE_COLUMNS
from .keyset import beyond, claim_place, place_of
from .limits import patience
from .selection import Selection
from .signs import ShownState

CHUNK = 1_000

Row = dict[str, Any]

# What a file has of each job: its columns, and the attributes that they are.
_COLUMNS = {
    "id": "pk",
    "kind": "kind",
    "queue": "queue",
    "priority": "priority",
    "state": "",
    "attempt": "attempt",
    "max_attempts": "max_attempts",
    "enqueued_at": "enqueued_at",
    "run_at": "run_at",
    "started_at": "started_at",
    "finished_at": "finished_at",
    "expires_at": "expires_at",
    "worker": "lease_owner",
    "unique_key": "unique_key",
    "schedule": "cron_id",
    "scheduled_for": "scheduled_for",
    "copied_from": "copied_from_id",
    "error": "error",
}
EXPORTED = tuple(_COLUMNS)


def exported(selection: Selection, *, using: str) -> Iterator[list[Row]]:
    """
    Yield the jobs of ``selection`` state by state, each in the order of its list, ``CHUNK`` at a time.

    Each chunk is read by itself, in statements that ``patience`` limits:
    whoever downloads slowly keeps no snapshot open. So the file is none
    either, and a job that moves meanwhile may be in it twice or not at all.
    """
    for shown, jobs in selection.by_state(using=using):
        # In the order of a state, the end of the window would be looked for among all that have it.
        order = None if selection.is_windowed else shown
        for rows in _chunks(jobs.defer(*LARGE_COLUMNS), order, using=using):
            yield [_row(job, shown) for job in rows]


def _chunks(jobs: JobQuerySet, order: ShownState | None, *, using: str) -> Iterator[list[Job]]:
    place = ""
    while True:
        with patience(using=using):
            rows = _next(jobs, order, place)
        if rows:
            yield rows
        if len(rows) < CHUNK:
            return
        place = place_of(rows[-1], order)


def _next(jobs: JobQuerySet, order: ShownState | None, place: str) -> list[Job]:
    if order is ShownState.PENDING:
        return claim_order.first(jobs, CHUNK, claim_place(jobs, place) if place else None)
    columns = ("-pk",) if order is None else order.order
    return list((beyond(jobs, order, place) if place else jobs).order_by(*columns)[:CHUNK])


def _row(job: Job, shown: ShownState) -> Row:
    return {name: getattr(job, attribute) if attribute else shown.value for name, attribute in _COLUMNS.items()}
