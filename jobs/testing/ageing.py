"""Letting time pass for one row, since nobody can turn the database's clock."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from ..models import Job

MOMENTS = (
    "run_at",
    "enqueued_at",
    "started_at",
    "finished_at",
    "lease_expires_at",
    "expires_at",
    "cancel_requested_at",
    "unknown_since",
)


def age(job: Job, seconds: float) -> None:
    """
    Move every time that ``job`` has ``seconds`` into the past, and refresh it.

    A job with a delay of 60 is due after ``age(job, 60)``; a running one whose
    lease has 30 seconds left can be rescued after ``age(job, 31)``. Other
    rows, its runs among them, keep their times.
    """
    using = job._state.db or "default"
    earlier = {name: F(name) - timedelta(seconds=seconds) for name in MOMENTS}
    Job.objects.using(using).filter(pk=job.pk).update(**earlier)
    job.refresh_from_db(using=using)
