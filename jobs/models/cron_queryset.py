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

# These are the tick's: save() leaves them alone, or a form that was open for long would turn the clock back.
TIMES_OF_TICK = (
    "next_run_at",
    "rescheduled_at",
    "disabled_at",
    "last_scheduled_for",
    "last_run_at",
    "waiting_for",
    "put_off_until",
)
KEPT_BY_TICK = frozenset({*TIMES_OF_TICK, "last_job_id", "error"})


class CronJobQuerySet(models.QuerySet["CronJob"]):
    def enabled(self) -> CronJobQuerySet:
        return self.filter(enabled=True)

    def to_plan(self) -> CronJobQuerySet:
        """Enabled schedules that are new or were changed, and have no next run yet."""
        return self.not_put_off().enabled().filter(next_run_at__isnull=True)

    def due(self) -> CronJobQuerySet:
        """Enabled schedules whose next run has come."""
        return self.not_put_off().enabled().filter(next_run_at__lte=clock.now())

    def not_put_off(self) -> CronJobQuerySet:
        """Leave out those that failed and are to be looked at later."""
        return self.filter(Q(put_off_until__isnull=True) | Q(put_off_until__lte=clock.now()))

    def update(self, **changes: Any) -> int:
        """
        Update these rows; raise ``InvalidSchedule`` for a value that no schedule may have.

        Where a planning field is among the changes (``enabled`` included) the
        next run is planned anew, strictly after the database's present time,
        so that neither an edit nor a resume runs anything at once.
        """
        schedule_values.check(changes)
        changes = schedule_values.normal(changes)
        replanned = not PLANNING.isdisjoint(changes)
        if not KEPT_BY_TICK.issuperset(changes):
            # What was put off because it failed may have been mended.
            changes["put_off_until"] = None
        rows = super().update(**(self._replanned(changes) if replanned else changes))
        if replanned and rows:
            announce([Wakeup(SOON)], using=self.write_alias)
        return rows

    update.alters_data = True  # type: ignore[attr-defined]

    def bulk_create(self, objs: Iterable[CronJob], *args: Any, **options: Any) -> list[CronJob]:
        """
        Insert many; each is checked as ``save`` does, before the first is written.

        With ``update_conflicts``, a change of a planning field plans anew as ``update`` does.
        """
        listed = list(objs)
        for schedule in listed:
            schedule.check_values()
            schedule.forget_history()
        if not PLANNING.isdisjoint(options.get("update_fields") or ()):
            options["update_fields"] = {
                *options["update_fields"],
                "next_run_at",
                "rescheduled_at",
                "put_off_until",
                "error",
            }
        created = super().bulk_create(listed, *args, **options)
        announce([Wakeup(SOON)], using=self.write_alias)
        return created

    bulk_create.alters_data = True  # type: ignore[attr-defined]

    def bulk_update(self, objs: Iterable[CronJob], fields: Iterable[str], batch_size: int | None = None) -> int:
        """Update many by key; each is checked as ``save`` does, before the first is written."""
        listed = list(objs)
        for schedule in listed:
            schedule.check_values()
        return super().bulk_update(listed, fields, batch_size=batch_size)

    bulk_update.alters_data = True  # type: ignore[attr-defined]

    @property
    def write_alias(self) -> str:
        chosen: str | None = self._db  # type: ignore[attr-defined]
        return chosen or router.db_for_write(self.model)

    def _replanned(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        planned = {**changes, "next_run_at": None, "rescheduled_at": clock.now(), "error": ""}
        if "enabled" in changes:
            new = changes["enabled"]
            new = new if hasattr(new, "resolve_expression") else Value(new, output_field=models.BooleanField())
            # The right-hand side sees the row as it was: disabling twice keeps the first time, and so does
            # disabling, enabling and disabling before a tick has seen any of it.
            is_paused_still = Q(next_run_at__isnull=True, disabled_at__isnull=False)
            is_disabled_now = Q(enabled=True) & Q(Exact(new, Value(value=False))) & ~is_paused_still
            planned["disabled_at"] = Case(When(is_disabled_now, then=clock.now()), default=F("disabled_at"))
        return planned
