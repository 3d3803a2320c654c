"""Schedules whose next run is too far away, as after a clock that was wrong for a while."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from .. import clock, schedule_values, slots
from ..exceptions import JobsError
from ..models import CronJob
from ..slots import NEVER

logger = logging.getLogger(__name__)


def heal(*, using: str, limit: int = 1_000) -> list[str]:
    """
    Plan anew the schedules whose next run is later than their rule says.

    Returns their names. Looks at the ``limit`` schedules that are furthest in the future.
    """
    healed = []
    for schedule in _far_ahead(limit, using=using):
        if _is_too_far_ahead(schedule):
            planned = CronJob.objects.using(using).filter(pk=schedule.pk, next_run_at=clock.at(schedule.planned))
            if planned.update(next_run_at=None, rescheduled_at=clock.now(), last_scheduled_for=None):
                logger.warning("schedule planned anew schedule=%s was=%s", schedule.name, schedule.planned)
                healed.append(schedule.name)
    return healed


def _far_ahead(limit: int, *, using: str) -> Iterable[Any]:
    planned = (
        CronJob.objects.using(using).enabled().filter(next_run_at__gt=clock.now(), next_run_at__lt=clock.at(NEVER))
    )
    facts = {"planned": clock.Instant("next_run_at"), "read_now": clock.Instant(clock.now())}
    return planned.annotate(**facts).order_by("-next_run_at")[:limit]


def _is_too_far_ahead(schedule: Any) -> bool:
    try:
        rule, policy = schedule_values.rule(schedule), schedule_values.policy(schedule)
    except JobsError:
        return False
    late = slots.offset(schedule.pk, schedule.jitter)
    first = schedule_values.next_slot(rule, policy, schedule.read_now - late)
    return first is not None and schedule.planned > first + late + timedelta(seconds=1)
