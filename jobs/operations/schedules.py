"""Enabling, disabling, running and backfilling schedules."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connections, router, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from .. import clock, enqueueing, registry, schedule_values, slot_jobs, slots
from ..admission import Candidate, admit
from ..exceptions import DuplicateJob, InvalidSchedule
from ..models import CronJob, Job, JobEvent
from ..specs import JobSpec
from .decision import Actor, Decision
from .enqueueing import check_permission

MOST_BACKFILLED = 1_000


def enable(schedules: QuerySet[CronJob], *, actor: Actor | None = None, reason: str = "") -> list[str]:
    """
    Let disabled schedules run again; return the names of those that were disabled.

    Nothing runs at once: the next run is the first after now, and an event
    says what was not run meanwhile. Schedules of kinds whose permission the
    actor lacks are left.
    """
    decision = Decision.of(actor, reason)
    return _toggle(schedules, enabled=True, decision=decision, barred=registry.barred(decision.actor.permits))


def disable(schedules: QuerySet[CronJob], *, actor: Actor | None = None, reason: str = "") -> list[str]:
    """
    Stop schedules from running; return the names of those that were enabled.

    Jobs of theirs that run go on; those still waiting for their first run
    are cancelled when a worker comes to them.
    """
    return _toggle(schedules, enabled=False, decision=Decision.of(actor, reason))


def _toggle(
    schedules: QuerySet[CronJob], *, enabled: bool, decision: Decision, barred: Collection[str] = ()
) -> list[str]:
    using = schedules._db or router.db_for_write(CronJob)  # type: ignore[attr-defined]
    chosen = list(schedules.using(using).values_list("pk", flat=True))
    with transaction.atomic(using=using):
        others = CronJob.objects.using(using).filter(pk__in=chosen, enabled=not enabled).exclude(kind__in=barred)
        found = dict(others.order_by("pk").select_for_update().values_list("pk", "name"))
        CronJob.objects.using(using).filter(pk__in=found).update(enabled=enabled)
        kind = JobEvent.Kind.ENABLED if enabled else JobEvent.Kind.DISABLED
        JobEvent.objects.using(using).bulk_create(decision.event(kind, cron_id=pk) for pk in found)
    return sorted(found.values())


def trigger_schedule(schedule: CronJob, *, actor: Actor | None = None, reason: str = "") -> Job:
    """
    Enqueue one extra run of ``schedule`` now, disabled or not; its next slot stays.

    The job is marked as run by hand and does not count as overlap. Raises
    ``PermissionDenied`` if the actor lacks the permission of the kind,
    ``DuplicateJob`` where a live job holds the schedule's unique key, and
    ``InvalidSchedule`` for one that was never saved or has been deleted.
    """
    using = schedule._state.db or router.db_for_write(CronJob)
    decision = Decision.of(actor, reason)
    check_permission(schedule.kind, decision.actor)
    with transaction.atomic(using=using):
        _check_stored(schedule, CronJob.objects.using(using).filter(pk=schedule.pk))
        spec = slot_jobs.spec_of(schedule, now=clock.aware(clock.read(using)))
        job = _inserted(spec, schedule, using=using)
        decision.event(JobEvent.Kind.TRIGGERED, cron_id=schedule.pk, job_id=job.pk).save(using=using)
    return job


def _check_stored(schedule: CronJob, rows: QuerySet[CronJob]) -> None:
    if not rows.values_list("pk", flat=True):
        message = _("Schedule %r is not stored: save it first, or look whether it was deleted.")
        raise InvalidSchedule(message % schedule.name)


def _inserted(spec: JobSpec, schedule: CronJob, *, using: str) -> Job:
    candidate = admit(spec, vendor=connections[using].vendor)
    inserted = enqueueing.insert([candidate.having(cron_id=schedule.pk, origin=Job.Origin.MANUAL)], using=using)
    if not inserted:
        message = _("Schedule %(name)r was not run: another live job holds its unique key %(key)r.")
        raise DuplicateJob(message % {"name": schedule.name, "key": schedule.unique_key})
    return Job.objects.using(using).get(pk=inserted[0][0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """``missing`` slots had no job, and have one now unless it was a dry run; ``present`` had one; ``refused`` had a taken key."""

    missing: list[datetime] = field(default_factory=list)
    present: list[datetime] = field(default_factory=list)
    refused: list[datetime] = field(default_factory=list)


def backfill(
    schedule: CronJob,
    begin: datetime,
    end: datetime,
    *,
    dry_run: bool = False,
    limit: int = MOST_BACKFILLED,
    actor: Actor | None = None,
    reason: str = "",
) -> Backfill:
    """
    Make jobs for the past slots from ``begin`` to ``end`` (both included) that have none.

    A second call finds nothing to do, since a slot has one job; one whose job
    retention has deleted gets another. Backfilled jobs do not count as
    overlap. Raises ``PermissionDenied`` if the actor lacks the permission of
    the kind, ``InvalidJob`` for jobs that could not run, and
    ``InvalidSchedule`` where ``begin`` is before 1970 or ``end`` not past,
    where there would be more than ``limit`` slots, or where the schedule is
    not stored.
    """
    using = schedule._state.db or router.db_for_write(CronJob)
    decision = Decision.of(actor, reason)
    check_permission(schedule.kind, decision.actor)
    now = clock.aware(clock.read(using))
    moments = _past_slots(schedule, clock.aware(begin), clock.aware(end), now, limit)
    with transaction.atomic(using=using):
        # So that no tick makes the same slot's job meanwhile.
        _check_stored(schedule, CronJob.objects.using(using).select_for_update().filter(pk=schedule.pk))
        wanted = [(schedule.pk, slot) for slot in moments]
        present = slot_jobs.stored_slots(wanted, using=using) if wanted else {}
        missing = [slot for slot in moments if (schedule.pk, slot) not in present]
        made = slot_jobs.candidates(schedule, missing, now=now, origin=Job.Origin.BACKFILL, using=using)
        found = Backfill(missing=missing, present=sorted(slot for _, slot in present))
        return found if dry_run or not missing else _filled(schedule, found, made, decision, using)


def _past_slots(schedule: CronJob, begin: datetime, end: datetime, now: datetime, limit: int) -> list[datetime]:
    if end < begin:
        raise InvalidSchedule(f"The end {end} is before the beginning {begin}.")
    if begin < clock.EPOCH:
        raise InvalidSchedule(f"The beginning {begin} is before 1970, where no job can be.")
    if end > now:
        raise InvalidSchedule(f"The end {end} is not past: it is {now} by the database's clock.")
    rule, policy = schedule_values.rule(schedule), schedule_values.policy(schedule)
    begin = begin - slots.INSTANT
    end = end if policy.ends_at is None else min(end, policy.ends_at)
    count = rule.count(begin, end) if begin < end else 0
    if count > limit:
        raise InvalidSchedule(f"There are {count} slots in that time: backfill at most {limit} at once.")
    return rule.newest(begin, end, limit) if count else []


def _filled(schedule: CronJob, found: Backfill, made: Sequence[Candidate], decision: Decision, using: str) -> Backfill:
    wanted = {(schedule.pk, slot): one for slot, one in zip(found.missing, made, strict=True)}
    ids = slot_jobs.materialise(wanted, using=using)
    refused = [slot for slot in found.missing if ids[schedule.pk, slot] is None]
    filled = [slot for slot in found.missing if slot not in refused]
    if filled:
        about = {"first": filled[0].isoformat(), "last": filled[-1].isoformat(), "count": len(filled)}
        decision.event(JobEvent.Kind.BACKFILLED, cron_id=schedule.pk, slots=about).save(using=using)
    return Backfill(missing=filled, present=found.present, refused=refused)
