"""Schedules whose next run is too far away, as after a clock that was wrong for a while."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from .. import clock, schedule_values, slots
from ..exceptions import JobsError
from ..models import CronJob

logger = logging.getLogger(__name__)


class Healer:
    """Goes through all schedules, ``limit`` at a time, and begins again at the end."""

    def __init__(self, *, using: str, limit: int = 1_000) -> None:
        self._using = using
        self._limit = limit
        self._seen_until = 0

    def run_once(self) -> list[str]:
        """Plan anew those of the next few whose next run is later than their rule says; return their names."""
        batch = self._batch()
        self._seen_until = batch[-1].pk if len(batch) == self._limit else 0
        return [schedule.name for schedule in batch if _is_too_far_ahead(schedule) and self._plan_anew(schedule)]

    def _batch(self) -> list[Any]:
        facts = {"planned": clock.Instant("next_run_at"), "read_now": clock.Instant(clock.now())}
        enabled = CronJob.objects.using(self._using).enabled().filter(pk__gt=self._seen_until)
        return list(enabled.annotate(**facts).order_by("pk")[: self._limit])

    def _plan_anew(self, schedule: Any) -> bool:
        rows = CronJob.objects.using(self._using).filter(pk=schedule.pk, next_run_at=clock.at(schedule.planned))
        if not rows.update(next_run_at=None, rescheduled_at=clock.now(), last_scheduled_for=None, put_off_until=None):
            return False
        logger.warning("schedule planned anew schedule=%s was=%s", schedule.name, schedule.planned)
        return True


def _is_too_far_ahead(schedule: Any) -> bool:
    if schedule.planned is None:
        return False
    try:
        rule, policy = schedule_values.rule(schedule), schedule_values.policy(schedule)
    except (JobsError, ValueError):
        # The tick says what is wrong with it.
        return False
    late = slots.offset(schedule.pk, schedule.jitter)
    first = schedule_values.next_slot(rule, policy, schedule.read_now - late)
    return first is not None and schedule.planned > first + late + timedelta(seconds=1)
