"""
The pending jobs in the order in which they are claimed, from any place on.

No one index has them so: those whose workers died are in one of their own,
and what comes after a place is the rest of its priority and then all lower
ones. Each part is a range of an index, and they are merged here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

from django.db.models import Q

from ..models import Job
from ..models.places import comes_after
from ..models.queryset import JobQuerySet
from . import counts
from .counts import CLAIM_ORDER, Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a job in this order; its time is one, or an expression for it."""

    priority: int
    run_at: Any
    id: int


def parts(place: Place | None = None) -> Iterator[Q]:
    """Yield conditions that together are all pending jobs, or all that come after ``place``."""
    for own in (Q(losses=0), Q(losses__gt=0)):
        if place is None:
            yield own
        else:
            later = comes_after("run_at", place.run_at, place.id, rising=True)
            yield own & Q(priority=place.priority) & Q(later)
            yield own & Q(priority__lt=place.priority)


def counted(jobs: JobQuerySet, place: Place | None = None) -> Count:
    """Count these pending jobs, part by part."""
    return Count.of(sum(counts.some(jobs.filter(part), CLAIM_ORDER).count() for part in parts(place)))


def first(jobs: JobQuerySet, most: int, place: Place | None = None) -> list[Job]:
    """Return the first ``most`` of these pending jobs, each part read by itself; fewer only if there are no more."""
    ranked = (jobs.filter(part).order_by(*CLAIM_ORDER)[:most] for part in parts(place))
    return list(islice(merge(*ranked, key=lambda job: (-job.priority, job.run_at, job.pk)), most))


def page(jobs: JobQuerySet, begin: int, end: int, place: Place | None = None) -> JobQuerySet:
    """Return these pending jobs from the one number to the other."""
    ranked = (jobs.filter(part).order_by(*CLAIM_ORDER) for part in parts(place))
    rows = (each.values_list("priority", "run_at", "pk")[:end] for each in ranked)
    first = islice(merge(*rows, key=lambda row: (-row[0], *row[1:])), begin, end)
    return jobs.filter(pk__in=[pk for *_, pk in first]).order_by(*CLAIM_ORDER)
