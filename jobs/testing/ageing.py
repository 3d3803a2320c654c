"""Letting time pass for one job or schedule, since nobody can turn the database's clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import F

from ..models import CronJob, Job
from ..models.cron_queryset import TIMES_OF_TICK

MOMENTS = {
    CronJob: TIMES_OF_TICK,
    Job: (
        "run_at",
        "enqueued_at",
        "started_at",
        "finished_at",
        "lease_expires_at",
        "expires_at",
        "cancel_requested_at",
        "unknown_since",
    ),
}


def age(row: Job | CronJob, seconds: float) -> None:
    """
    Move every time that a job or schedule has ``seconds`` into the past, and refresh it.

    A job with a delay of 60 is due after ``age(job, 60)``; a running one whose
    lease has 30 seconds left can be rescued after ``age(job, 31)``. An hourly
    schedule that has been planned misses a run with ``age(schedule, 3600)``.
    The slots of its jobs move with it; other rows, a job's runs among them,
    keep their times.
    """
    using = row._state.db or "default"
    model: Any = type(row)
    earlier = {name: F(name) - timedelta(seconds=seconds) for name in MOMENTS[model]}
    model.objects.using(using).filter(pk=row.pk).update(**earlier)
    if isinstance(row, CronJob):
        # Earliest first, since no two may have the same slot on the way.
        for job in row.jobs.using(using).filter(scheduled_for__isnull=False).order_by("scheduled_for"):
            Job.objects.using(using).filter(pk=job.pk).update(
                scheduled_for=F("scheduled_for") - timedelta(seconds=seconds)
            )
    row.refresh_from_db(using=using)
