"""The heartbeat's write: longer leases, progress and logs, and word of a requested cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from .. import clock, payload, sql
from ..models import Job
from .settlement import Answer, Lease, answers_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """A lease to renew. ``running`` is how many seconds ago its handler was called, None if it was not yet."""

    lease: Lease
    running: float | None = None
    progress: dict[str, Any] | None = None
    log: str | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    answer: Answer
    cancel_requested: bool


Renewals = dict[Lease, Renewal]


def renew(beats: Sequence[Beat], *, lease_seconds: float, using: str) -> Renewals:
    """Make these leases end ``lease_seconds`` from the database's now, store what the handlers report, and answer for each."""
    if not beats:
        return {}
    by_vendor = {"postgresql": renew_by_statement}
    return by_vendor.get(connections[using].vendor, renew_by_orm)(beats, lease_seconds=lease_seconds, using=using)


def renew_by_statement(beats: Sequence[Beat], *, lease_seconds: float, using: str) -> Renewals:
    """Renew in the one statement of ``sql.RENEW_POSTGRESQL``."""
    rows = [
        {
            "id": beat.lease.job_id,
            "claim_no": beat.lease.claim_no,
            "running": beat.running,
            "progress": beat.progress,
            "log": beat.log,
        }
        for beat in beats
    ]
    params = {"rows": payload.dumps(rows), "lease_seconds": lease_seconds}
    renewed = sql.fetch(connections[using], sql.RENEW_POSTGRESQL, params)
    return _renewals(beats, {Lease(job_id, claim_no): asked for job_id, claim_no, asked in renewed}, using=using)


def renew_by_orm(beats: Sequence[Beat], *, lease_seconds: float, using: str) -> Renewals:
    """Renew through the ORM: the reference that the statement is tested against."""
    with transaction.atomic(using=using):
        jobs = Job.objects.using(using).filter(
            pk__in=[beat.lease.job_id for beat in beats], lease_expires_at__isnull=False
        )
        locked = jobs.lock().values_list("pk", "claim_no", "cancel_requested_at")
        asked = {Lease(job_id, claim_no): at is not None for job_id, claim_no, at in locked}
        for beat in beats:
            if beat.lease in asked:
                _renew_one(beat, jobs, lease_seconds)
        return _renewals(beats, asked, using=using)


def _renewals(beats: Sequence[Beat], renewed: dict[Lease, bool], *, using: str) -> Renewals:
    answers = answers_for([beat.lease for beat in beats], renewed, using=using)
    return {lease: Renewal(answer, renewed.get(lease, False)) for lease, answer in answers.items()}


def _renew_one(beat: Beat, jobs: Any, lease_seconds: float) -> None:
    changes: dict[str, Any] = {"lease_expires_at": clock.in_seconds(lease_seconds)}
    if beat.running is not None:
        changes["started_at"] = Coalesce(F("started_at"), clock.in_seconds(-beat.running))
    if beat.progress is not None:
        changes["progress"] = beat.progress
    if beat.log is not None:
        changes["log"] = beat.log
    jobs.filter(pk=beat.lease.job_id, claim_no=beat.lease.claim_no).update(**changes)
