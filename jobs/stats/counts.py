"""Counting no further than it is worth: PostgreSQL reads every row for an exact count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import IntegerField, Q, Subquery
from django.utils.translation import gettext as _

from ..models import Job
from ..models.queryset import JobQuerySet
from ..numerals import grouped
from .signs import ShownState, in_shown_state

MOST = 10_000


@dataclass(frozen=True, slots=True)
class Count:
    """``number`` of rows, or of the first of them, if there are more."""

    number: int
    is_capped: bool = False

    @classmethod
    def of(cls, found: int) -> Count:
        """Return the count that stands for ``found`` rows, of which at most one more than ``MOST`` were looked for."""
        return cls(min(found, MOST), found > MOST)

    def __str__(self) -> str:
        return _("%s+") % grouped(self.number) if self.is_capped else grouped(self.number)


class Counted(Subquery):
    """How many rows a queryset has, as a value of another."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def counts_by_state(*, using: str) -> dict[ShownState, Count]:
    """Count the jobs of each state, all in one query."""
    jobs = Job.objects.using(using)
    counts: dict[str, Any] = {f"count_{shown}": _counted(jobs, shown) for shown in ShownState}
    # Any one row will do to hang the figures on; without one, all of them are nothing.
    row = jobs.order_by("-pk").annotate(**counts).values_list(*counts).first() or [0] * len(counts)
    return {shown: Count.of(found) for shown, found in zip(ShownState, row, strict=True)}


def _counted(jobs: JobQuerySet, shown: ShownState) -> Any:
    if shown is ShownState.PENDING:
        # Two indexes have them, each a part.
        ready, suspects = (Counted(some(jobs.pending().filter(part), CLAIM_ORDER)) for part in PARTS)
        return ready + suspects
    return Counted(some(in_shown_state(jobs, shown), ORDERS.get(shown, ("finished_at", "pk"))))


def some(jobs: JobQuerySet, order: tuple[Any, ...]) -> Any:
    """Return as many ids of ``jobs`` as are worth counting, in the order of an index."""
    # Ordered as an index is, or the planner is free to walk through the table from its start.
    return jobs.order_by(*order).values("pk")[: MOST + 1]


PARTS = (Q(losses=0), Q(losses__gt=0))
CLAIM_ORDER = ShownState.PENDING.order
ORDERS: dict[ShownState, tuple[Any, ...]] = {
    ShownState.SCHEDULED: ("run_at", "pk"),
    ShownState.BACKING_OFF: ("run_at", "pk"),
    ShownState.RUNNING: ("lease_owner", "pk"),
}
