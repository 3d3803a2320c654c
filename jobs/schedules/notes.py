"""What the scheduler writes on schedules, and nothing else: bookkeeping must never undo an edit."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connections

from .. import clock, payload, sql
from ..models import CronJob
from ..models.cron_queryset import CronJobQuerySet

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """None leaves a column as it is, but for ``waiting_for``. A ``next_run_at`` ends the time a schedule was disabled."""

    id: int
    next_run_at: datetime | None = None
    last_scheduled_for: datetime | None = None
    last_run_at: datetime | None = None
    last_job_id: int | None = None
    error: str | None = None
    waiting_for: datetime | None = None


def note(noted: Sequence[Noted], *, using: str) -> None:
    """Write on schedules that the caller has locked: in one statement on PostgreSQL, one by one elsewhere."""
    if connections[using].vendor == "postgresql":
        rows = payload.dumps([_as_json(one) for one in noted])
        sql.fetch(connections[using], sql.TICK_POSTGRESQL, {"rows": rows})
        return
    for one in noted:
        CronJob.objects.using(using).filter(pk=one.id).update(**_changes(one))


def _as_json(noted: Noted) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in _values(noted).items()
        if value is not None
    }


def _changes(noted: Noted) -> dict[str, Any]:
    changes = {
        name: clock.at(value) if isinstance(value, datetime) else value
        for name, value in _values(noted).items()
        if name != "id" and (value is not None or name == "waiting_for")
    }
    return changes | ({} if noted.next_run_at is None else {"disabled_at": None, "put_off_until": None})


def _values(noted: Noted) -> dict[str, Any]:
    return {name: getattr(noted, name) for name in _COLUMNS}


_COLUMNS = tuple(field.name for field in fields(Noted))


def put_off(schedules: CronJobQuerySet, seconds: float, error: str, *, name: str) -> int:
    """
    Look at a schedule again in so many seconds, or once it is edited; what stands against it is on its row.

    Nothing is lost by it: what passes meanwhile is caught up with.
    """
    text = " ".join(error.split())[:500]
    if text:
        logger.error("schedule put off schedule=%s seconds=%g error=%s", name, seconds, text)
    return schedules.update(put_off_until=clock.in_seconds(seconds), error=text)
