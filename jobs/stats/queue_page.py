"""One queue looked at closely: what waits and fails in it, and what people did to it. Each read is a window."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..models import Job, JobEvent, Queue
from . import queues
from .counts import CLAIM_ORDER, Count
from .events import newest_events
from .queues import Load, Waiting, loads, with_due_for
from .recent import Lately, lately
from .signs import ShownState, in_shown_state

MOST_LISTED = 5
MOST_EVENTS = 10

_CLASS = re.compile(r"^([A-Za-z_][\w.]*):\s")

Ranked = list[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """
    ``backing_off`` and ``dead`` are what is found of this queue among the next
    or the newest ``queues.WINDOW`` of all queues, ``kinds`` among as many that
    are pending in it. ``first`` are the next to be claimed.
    """

    load: Load
    backing_off: Count
    dead: Count
    kinds: Ranked
    errors: Ranked
    first: tuple[Waiting, ...]
    changes: tuple[JobEvent, ...]
    lately: Lately

    @property
    def left_behind(self) -> list[Waiting]:
        """The oldest jobs of each priority that are not among the first."""
        first = {job.id for job in self.first}
        return [job for job in self.load.heads if job.id not in first]


def view(queue: Queue) -> QueueView:
    """Read all that the page of a queue shows (fourteen queries)."""
    using: Any = queue._state.db
    waiting = _next_claimed(queue.name, using)
    dead, looked_at = _dead_errors(queue.name, using)
    return QueueView(
        load=loads([queue.name], using=using)[queue.name],
        backing_off=_backing_off(queue.name, using),
        dead=Count(len(dead), looked_at >= queues.WINDOW),
        kinds=Counter(job.kind for job in waiting).most_common(MOST_LISTED),
        errors=Counter(map(error_class, dead)).most_common(MOST_LISTED),
        first=tuple(waiting[:MOST_LISTED]),
        changes=tuple(newest_events(using=using).filter(queue=queue.name).order_by("-pk")[:MOST_EVENTS]),
        lately=lately(queue=queue.name, using=using),
    )


def error_class(error: str) -> str:
    """Return the exception that an error begins with, or all of it if it names none."""
    found = _CLASS.match(error)
    return found[1] if found else error


def _next_claimed(name: str, using: str) -> list[Waiting]:
    ready = with_due_for(Job.objects.using(using).pending().filter(losses=0, queue=name)).order_by(*CLAIM_ORDER)
    rows = ready.values_list("pk", "kind", "priority", "due_for")[: queues.WINDOW]
    return [Waiting(id=pk, kind=kind, priority=priority, due_for=due) for pk, kind, priority, due in rows]


def _backing_off(name: str, using: str) -> Count:
    jobs = in_shown_state(Job.objects.using(using), ShownState.BACKING_OFF).order_by("run_at", "pk")
    names = list(jobs.values_list("queue", flat=True)[: queues.WINDOW])
    return Count(names.count(name), len(names) >= queues.WINDOW)


def _dead_errors(name: str, using: str) -> tuple[list[str], int]:
    """Return the errors of this queue's jobs among the newest dead ones, and how many those are."""
    jobs = in_shown_state(Job.objects.using(using), ShownState.DEAD).order_by("-finished_at", "-pk")
    rows = list(jobs.values_list("queue", "error")[: queues.WINDOW])
    return [error for queue, error in rows if queue == name], len(rows)
