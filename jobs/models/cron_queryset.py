"""The doors of ``CronJob.objects``: adjectives that filter, and an ``update`` that plans anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.db import models, router
from django.db.models import Case, F, Q, Value, When
from django.db.models.lookups import Exact

from .. import clock, schedule_values
from ..wakeups import SOON, Wakeup, announce

if TYPE_CHECKING:
    from .cron import CronJob

# A change of these makes the schedule be planned anew, strictly after the change.
PLANNING = frozenset({"expression", "every", "timezone", "starts_at", "ends_at", "jitter", "enabled"})


class CronJobQuerySet(models.QuerySet["CronJob"]):
    def enabled(self) -> CronJobQuerySet:
        return self.filter(enabled=True)

    def to_plan(self) -> CronJobQuerySet:
        """Enabled schedules that are new or were changed, and have no next run yet."""
        return self.enabled().filter(next_run_at__isnull=True)

    def due(self) -> CronJobQuerySet:
        """Enabled schedules whose next run has come."""
        return self.enabled().filter(next_run_at__lte=clock.now())

    def update(self, **changes: Any) -> int:
        """
        Update these rows; raise ``InvalidSchedule`` for a value that no schedule may have.

        Where a planning field is among the changes (``enabled`` included) the
        next run is planned anew, strictly after the database's present time,
        so that neither an edit nor a resume runs anything at once.
        """
        schedule_values.check(changes)
        replanned = not PLANNING.isdisjoint(changes)
        rows = super().update(**(self._replanned(changes) if replanned else changes))
        if replanned and rows:
            announce([Wakeup(SOON)], using=self.write_alias)
        return rows

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[CronJob], *args: Any, **options: Any) -> list[CronJob]:
        """Insert many; each is checked as ``save`` does, before the first is written."""
        listed = list(objs)
        for schedule in listed:
            schedule.check_values()
        created = super().bulk_create(listed, *args, **options)
        announce([Wakeup(SOON)], using=self.write_alias)
        return created

    bulk_create.alters_data = True  # type: ignore[attr-defined]

    @property
    def write_alias(self) -> str:
        chosen: str | None = self._db  # type: ignore[attr-defined]
        return chosen or router.db_for_write(self.model)

    def _replanned(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        planned = {**changes, "next_run_at": None, "rescheduled_at": clock.now(), "error": ""}
        if "enabled" in changes:
            new = changes["enabled"]
            new = new if hasattr(new, "resolve_expression") else Value(new, output_field=models.BooleanField())
            # The right-hand side sees the row as it was: disabling twice keeps the first time.
            is_disabled_now = Q(enabled=True) & Q(Exact(new, Value(value=False)))
            planned["disabled_at"] = Case(When(is_disabled_now, then=clock.now()), default=F("disabled_at"))
        return planned
