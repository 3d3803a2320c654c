"""Finding jobs without reading the whole table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from django.db.models import QuerySet

from ..models import Job
from ..models.queryset import JobQuerySet
from ..states import LIVE
from .signs import ShownState

# What no index serves is looked for among this many of the newest jobs.
WINDOW = 100_000
MOST_FOUND = 1_000

Rows = TypeVar("Rows", bound=QuerySet[Any])

# In which states an index has the jobs of a queue or a kind.
INDEXED: Mapping[str, Collection[ShownState]] = {
    "queue": (ShownState.PENDING, ShownState.RUNNING),
    "kind": (ShownState.RUNNING,),
}


def is_windowed(name: str, shown: ShownState | None, others: Collection[str]) -> bool:
    """Say whether a filter by ``name`` looks at the newest jobs only; one by error, among ``others``, narrows enough."""
    return shown not in INDEXED[name] and "error" not in others


def newest(rows: Rows, most: int | None = None) -> Rows:
    """Filter to the newest rows of the table, ``WINDOW`` or ``most``, so that what no index serves stays quick (one query)."""
    table: Any = rows.model._default_manager
    last = table.using(rows.db).order_by("-pk").values_list("pk", flat=True).first() or 0
    return rows.filter(pk__gt=last - (most or WINDOW))


def found(jobs: JobQuerySet, term: str) -> JobQuerySet:
    """Filter to the job with this id, those that hold or held this unique key, and those of this kind (the newest)."""
    everywhere = Job.objects.using(jobs.db)
    if "\0" in term:
        return jobs.none()
    job_id = as_id(term)
    keyed = everywhere.filter(unique_key=term)
    # Asked for one by one, since no plan for all of them together uses all their indexes.
    sources = (
        everywhere.filter(pk__in=[] if job_id is None else [job_id]),
        keyed.filter(state__in=LIVE),
        newest(keyed)[:MOST_FOUND],
        newest(everywhere.filter(kind=term)).order_by("-pk")[:MOST_FOUND],
    )
    return jobs.filter(pk__in={pk for source in sources for pk in source.values_list("pk", flat=True)})


def as_id(text: str) -> int | None:
    """Return the id that a person typed, as ``12`` or ``#12``, or None."""
    digits = text.strip().removeprefix("#")
    return int(digits) if digits.isdecimal() and len(digits) <= 18 else None
