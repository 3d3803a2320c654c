"""Claims that go on where the last one ended, while what has been claimed cannot be forgotten."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from django.db import connections

from ..models.places import comes_after
from ..models.queryset import JobQuerySet

SLOW_SECONDS = 0.02
TIMES = 10
MOST_SECONDS = 1.0


class Place(NamedTuple):
    """Where a job stands among the ready ones."""

    priority: int
    run_at: Any
    job_id: int


class Trail:
    """
    Where the claims of one worker last ended, in each source of ready jobs.

    PostgreSQL keeps the index entries of all rows that an open transaction
    might still see. Beside a long one, a claim from the top walks past every
    job that was claimed since it began. So one from the top that took longer
    than ``SLOW_SECONDS`` is followed, for ``TIMES`` as long as it took, by
    claims that go on where it ended. What comes in before that place (a job
    given back, one of a better priority) waits for the next from the top:
    that long, ``MOST_SECONDS`` at most, or until nothing comes after the place.
    Other databases have no such entries: there every claim is from the top.
    """

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._until = 0.0

    def lock(
        self, source: str, jobs: JobQuerySet, limit: int, *, by: Callable[[JobQuerySet, int], list[Any]]
    ) -> list[Any]:
        """Return up to ``limit`` of the ``jobs`` of a source, which are in the order of the claim, locked ``by``."""
        if connections[jobs.db].vendor != "postgresql":
            return by(jobs, limit)
        place = self._places.get(source)
        rows = by(_after(jobs, place), limit) if place and time.monotonic() < self._until else []
        if len(rows) < limit:
            began = time.monotonic()
            rows += by(jobs.exclude(pk__in=[row.job_id for row in rows]) if rows else jobs, limit - len(rows))
            self._note(time.monotonic() - began)
        if rows:
            self._places[source] = rows[-1].place
        return rows

    def _note(self, seconds: float) -> None:
        """Take in how long a claim from the top took."""
        if seconds > SLOW_SECONDS:
            self._until = time.monotonic() + min(TIMES * seconds, MOST_SECONDS)


def _after(jobs: JobQuerySet, place: Place) -> JobQuerySet:
    """Filter to what comes after a place at its priority; the next priority is for the next claim from the top."""
    return jobs.filter(comes_after("run_at", place.run_at, place.job_id, rising=True), priority=place.priority)
