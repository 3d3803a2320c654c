"""How workers stand: their ages by the database's clock, what they run and what they have run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Case, DurationField, ExpressionWrapper, F, QuerySet, Subquery, TextChoices, When
from django.utils.translation import gettext_lazy

from .. import clock
from ..models import Job, JobRun, Worker
from .excerpts import LARGE_COLUMNS
from .search import newest
from .signs import with_signs

# By worker no index has runs, so that so many of the newest are looked through.
WINDOW = 10_000
MOST_RUNS = 20
MOST_RUNNING = 1_000

Condition = Worker.Condition


class Roll(TextChoices):
    """The lists of workers: those at work are all but the gone, and a worker that stopped in order is gone too."""

    AT_WORK = "", gettext_lazy("At work")
    LIVE = "live", Condition.LIVE.label
    LATE = "late", Condition.LATE.label
    DRAINING = "draining", Condition.DRAINING.label
    GONE = "gone", Condition.GONE.label

    @property
    def conditions(self) -> list[str]:
        return _CONDITIONS.get(self.value, [self.value])


_CONDITIONS: dict[str, list[str]] = {
    Roll.AT_WORK.value: [Condition.LIVE, Condition.LATE, Condition.DRAINING],
    Roll.GONE.value: [Condition.GONE, Condition.STOPPED],
}


def with_ages(workers: QuerySet[Worker]) -> QuerySet[Any]:
    """
    Add ``silent_for``, ``up_for`` and ``newest_version``, for the pages of workers.

    The first is how long ago the last heartbeat came, the second ends with
    it, and the third is what the live worker that started last has.
    """
    newest = Worker.objects.live().order_by("-started_at", "-pk").values("version")[:1]
    last_sign = Case(When(stopped_at__isnull=False, then=F("stopped_at")), default=F("heartbeat_at"))
    return workers.annotate(
        silent_for=ExpressionWrapper(clock.now() - F("heartbeat_at"), output_field=DurationField()),
        up_for=ExpressionWrapper(last_sign - F("started_at"), output_field=DurationField()),
        newest_version=Subquery(newest),
    )


def on_roll(workers: Any, roll: Roll) -> Any:
    """Filter workers that came through ``with_condition``."""
    return workers.filter(condition__in=roll.conditions)


def counts_by_roll(*, using: str) -> dict[Roll, int]:
    """Count the workers of each list (one query)."""
    workers: Any = Worker.objects.using(using).with_condition()
    counted = Counter(workers.order_by().values_list("condition", flat=True))
    return {roll: sum(counted[condition] for condition in roll.conditions) for roll in Roll}


def running_jobs(names: Iterable[str], *, using: str) -> dict[str, list[Job]]:
    """Return what the workers of these names run, without what they only hold (one query; all together so many)."""
    jobs = Job.objects.using(using).running().filter(lease_owner__in=list(names), started_at__isnull=False)
    found: dict[str, list[Job]] = {}
    for job in jobs.order_by("lease_owner", "pk").only("kind", "lease_owner")[:MOST_RUNNING]:
        found.setdefault(job.lease_owner, []).append(job)
    return found


def held_jobs(name: str, *, using: str) -> list[Job]:
    """Return what the worker of that name has claimed, whether it has started it or not (one query)."""
    jobs = with_signs(Job.objects.using(using).running().filter(lease_owner=name).defer(*LARGE_COLUMNS))
    return list(jobs.order_by("lease_owner", "pk")[:MOST_RUNNING])


def recent_runs(name: str, *, using: str) -> Iterator[JobRun]:
    """Yield the newest runs of the worker of that name (two queries)."""
    own = JobRun.objects.using(using).filter(worker=name).defer("message", "traceback", "log")
    yield from newest(own, WINDOW).order_by("-pk")[:MOST_RUNS]
