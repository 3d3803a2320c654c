"""How all of it stands, in a line of figures."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count as Counted
from django.db.models import Q

from .. import clock
from ..models import CronJob, Queue
from ..slots import ON_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedules:
    """How many enabled schedules are late, and how many have an error."""

    late: int
    failed: int


def paused_queues(*, using: str) -> int:
    """Count the queues that are paused now."""
    return Queue.objects.using(using).paused().count()


def troubled_schedules(*, using: str) -> Schedules:
    """Count the schedules that somebody should look at (one query)."""
    is_late = Q(error="", next_run_at__lt=clock.in_seconds(-ON_TIME.total_seconds()))
    counted = CronJob.objects.using(using).enabled().filter(~Q(error="") | is_late)
    found = counted.aggregate(late=Counted("pk", filter=is_late), failed=Counted("pk", filter=~Q(error="")))
    return Schedules(**found)
