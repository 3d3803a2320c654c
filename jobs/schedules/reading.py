"""Which schedules have something to do, as they are read and, a moment later, locked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Exists, OuterRef, Q

from .. import clock, registry
from ..conf import settings
from ..models import CronJob, Job
from ..models.cron_queryset import CronJobQuerySet
from ..models.locking import unlocked
from ..slots import Overlap
from ..states import LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A schedule as it is stored, its times as UTC. ``waited`` is the slot that waits for the end of an earlier one's job."""

    schedule: CronJob
    now: datetime
    rescheduled: datetime
    planned: datetime | None
    high_water: datetime | None
    paused: datetime | None
    waited: datetime | None

    @classmethod
    def of(cls, row: Any) -> Reading:
        return cls(
            schedule=row,
            now=row.read_now,
            rescheduled=row.read_rescheduled,
            planned=row.read_planned,
            high_water=row.read_high_water,
            paused=row.read_paused,
            waited=row.read_waited,
        )

    @property
    def is_due(self) -> bool:
        """Whether its next run has come, or is still to be planned."""
        return self.schedule.enabled and (self.planned is None or self.planned <= self.now)

    def is_still(self, other: Reading | None) -> bool:
        """Whether what was decided on this reading holds for a later one."""
        return other is not None and self._version == other._version

    @property
    def _version(self) -> tuple[Any, ...]:
        return (self.schedule.enabled, self.rescheduled, self.planned, self.waited)


FACTS = {
    "read_now": clock.Instant(clock.now()),
    "read_rescheduled": clock.Instant("rescheduled_at"),
    "read_planned": clock.Instant("next_run_at"),
    "read_high_water": clock.Instant("last_scheduled_for"),
    "read_paused": clock.Instant("disabled_at"),
    "read_waited": clock.Instant("waiting_for"),
}


def read(limit: int, *, besides: Collection[int], using: str) -> list[Reading]:
    """Return up to ``limit`` schedules that have something to do, ``besides`` some."""
    schedules = CronJob.objects.using(using).exclude(pk__in=besides)
    ids = list(islice(dict.fromkeys(_ids(schedules, limit)), limit))
    rows = CronJob.objects.using(using).filter(pk__in=ids).annotate(**FACTS)
    return [Reading.of(row) for row in rows] if ids else []


def lock(readings: Sequence[Reading], *, using: str) -> dict[int, Reading]:
    """Lock these schedules and return them as they are now, by key; those that others have locked are left out."""
    ids = [reading.schedule.pk for reading in readings]
    rows = unlocked(CronJob.objects.using(using).filter(pk__in=ids).annotate(**FACTS).order_by("pk"))
    return {row.pk: Reading.of(row) for row in rows}


def _ids(schedules: CronJobQuerySet, limit: int) -> Iterator[int]:
    for rows in (
        schedules.to_plan().order_by("pk"),
        schedules.due().filter(_for_us()).order_by("next_run_at", "pk"),
        schedules.not_put_off().filter(_may_stop_waiting(), waiting_for__isnull=False).order_by("pk"),
    ):
        yield from rows.values_list("pk", flat=True)[:limit]


def _for_us() -> Q:
    """Leave kinds that have no handler here to workers who know them, unless nobody came for long."""
    return Q(kind__in=registry.kinds()) | Q(next_run_at__lt=clock.in_seconds(-settings.unknown_kind_grace_seconds))


def _may_stop_waiting() -> Q:
    unfinished = Job.objects.filter(cron_id=OuterRef("pk"), state__in=LIVE, origin=Job.Origin.SLOT)
    unasked = unfinished.filter(cancel_requested_at__isnull=True)
    makes_room = Q(Exists(unasked), overlap=Overlap.CANCEL_RUNNING)
    return Q(enabled=False) | Q(overlap=Overlap.ALLOW) | ~Q(Exists(unfinished)) | makes_room
