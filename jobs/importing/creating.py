"""Schedules made of what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction

from ..models import CronJob
from .found import Found


@dataclass(slots=True, kw_only=True)
class Created:
    """Schedules that were created, and the names that others had already."""

    created: list[CronJob] = field(default_factory=list)
    present: list[str] = field(default_factory=list)


def create(listed: Iterable[Found], *, enable: bool, using: str) -> Created:
    """Create the schedules that are not refused; a second call creates none, since their names are taken."""
    done = Created()
    for found in listed:
        if found.refusal:
            continue
        schedule = found.schedule(enable=enable)
        if _insert(schedule, using=using):
            done.created.append(schedule)
        else:
            done.present.append(found.name)
    return done


def _insert(schedule: CronJob, *, using: str) -> bool:
    if CronJob.objects.using(using).filter(name=schedule.name).exists():
        return False
    try:
        with transaction.atomic(using=using):
            schedule.save(using=using)
    except IntegrityError:
        # Somebody else has just taken the name.
        return False
    return True
