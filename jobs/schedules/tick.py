"""The tick: due schedules become jobs, a batch at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import DataError, IntegrityError, transaction
from django.db.models import Q

from .. import clock, operations, registry, schedule_values, slot_jobs, slots
from ..conf import settings
from ..exceptions import JobsError
from ..models import CronJob, Job, JobEvent
from ..models.locking import unlocked
from ..slots import NEVER, Overlap, Reason, Skipped, Turn
from .notes import Noted, note

logger = logging.getLogger(__name__)

BATCH = 200


@dataclass(slots=True, kw_only=True)
class Ticked:
    """One schedule in one tick: what was read of it, and what is to be done."""

    schedule: CronJob
    now: datetime
    planned: datetime | None
    since: datetime
    waited: datetime | None
    waiting: datetime | None = None
    turn: Turn = field(default_factory=Turn)
    is_due: bool = False
    error: str = ""
    skipped: list[Skipped] = field(default_factory=list)
    start: list[datetime] = field(default_factory=list)
    in_the_way: list[int] = field(default_factory=list)


def tick(*, limit: int = BATCH, using: str) -> int:
    """
    Do what up to ``limit`` schedules have to do now, and return how many did something.

    The slots to come are worked out before the transaction opens. A batch
    that fails is done again one by one, and a schedule that fails by itself
    is stopped, with its error on the row.
    """
    batch = _read(limit, using=using)
    for ticked in batch:
        _decide(ticked)
    return _carry_out_or_divide(batch, using=using) if batch else 0


def _read(limit: int, *, using: str) -> list[Ticked]:
    """Return the schedules to look at: new or edited ones, due ones, and those whose slot waits."""
    schedules = CronJob.objects.using(using)
    facts = {
        "read_now": clock.Instant(clock.now()),
        "planned": clock.Instant("next_run_at"),
        "rescheduled": clock.Instant("rescheduled_at"),
        "high_water": clock.Instant("last_scheduled_for"),
        "waits": clock.Instant("waiting_for"),
    }
    found: dict[int, Ticked] = {}
    for rows in (
        schedules.to_plan(),
        schedules.due().filter(_for_us(using)).order_by("next_run_at", "pk"),
        schedules.filter(waiting_for__isnull=False).order_by("pk"),
    ):
        for schedule in rows.annotate(**facts)[: limit - len(found)]:
            found.setdefault(schedule.pk, _ticked(schedule))
        if len(found) >= limit:
            break
    return list(found.values())


def _for_us(using: str) -> Q:
    """Leave kinds that have no handler here to workers who know them, unless nobody came for long."""
    return Q(kind__in=registry.kinds()) | Q(next_run_at__lt=clock.in_seconds(-settings.unknown_kind_grace_seconds))


def _ticked(schedule: Any) -> Ticked:
    since = max(filter(None, (schedule.rescheduled, schedule.high_water)))
    return Ticked(
        schedule=schedule, now=schedule.read_now, planned=schedule.planned, since=since, waited=schedule.waits
    )


def _decide(ticked: Ticked) -> None:
    """Work out the turn of one schedule; a rule that cannot be followed becomes its error."""
    schedule = ticked.schedule
    ticked.is_due = schedule.enabled and (ticked.planned is None or ticked.planned <= ticked.now)
    if not ticked.is_due:
        return
    try:
        rule, policy = schedule_values.rule(schedule), schedule_values.policy(schedule)
        if ticked.planned is None:
            paused_at = None if schedule.disabled_at is None else clock.aware(schedule.disabled_at)
            ticked.turn = slots.plan(rule, policy, since=ticked.since, paused_at=paused_at)
        else:
            local_now = ticked.now - slots.offset(schedule.pk, schedule.jitter)
            ticked.turn = slots.turn(rule, policy, since=ticked.since, now=local_now)
            _check_progress(ticked, local_now)
    except (JobsError, ArithmeticError, ValueError, TypeError) as error:
        ticked.error = f"{error}"[:500]


def _check_progress(ticked: Ticked, now: datetime) -> None:
    """Refuse a next slot that is not in the future: the schedule would fire without end."""
    if ticked.turn.next_slot is not None and ticked.turn.next_slot <= now:
        raise JobsError(f"Its next run {ticked.turn.next_slot} is not after {now}.")


def _carry_out_or_divide(batch: list[Ticked], *, using: str) -> int:
    try:
        with transaction.atomic(using=using):
            held = _carry_out(batch, using=using)
    except (JobsError, DataError, IntegrityError) as error:
        if len(batch) > 1:
            return sum(_carry_out_or_divide([ticked], using=using) for ticked in batch)
        (broken,) = batch
        return _stop(broken, f"{error}", using=using)
    for ticked in held:
        if ticked.error:
            logger.error("schedule stopped schedule=%s error=%s", ticked.schedule.name, ticked.error)
    in_the_way = [pk for ticked in held for pk in ticked.in_the_way]
    if in_the_way:
        jobs = Job.objects.using(using).filter(pk__in=in_the_way, cancel_requested_at__isnull=True)
        operations.cancel(jobs, reason="The next slot of its schedule has come.")
    return sum(ticked.is_due or bool(ticked.start) for ticked in held)


def _stop(broken: Ticked, error: str, *, using: str) -> int:
    """Take a schedule that fails by itself out of the tick, until somebody edits it."""
    error = " ".join(error.split())[:500]
    logger.error("schedule stopped schedule=%s error=%s", broken.schedule.name, error)
    rows = CronJob.objects.using(using).filter(pk=broken.schedule.pk)
    return rows.update(next_run_at=clock.at(NEVER), waiting_for=None, error=error)


def _carry_out(batch: Sequence[Ticked], *, using: str) -> list[Ticked]:
    """Write one batch in the caller's transaction; return those that were not somebody else's."""
    held = _locked(batch, using=using)
    busy = slot_jobs.unfinished(
        [one.schedule.pk for one in held if one.schedule.overlap != Overlap.ALLOW or one.waited], using=using
    )
    wanted: dict[slot_jobs.Slot, Any] = {}
    for ticked in held:
        _place(ticked, busy.get(ticked.schedule.pk, []))
        made = slot_jobs.candidates(ticked.schedule, ticked.start, now=ticked.now, origin=Job.Origin.SLOT, using=using)
        wanted |= {(ticked.schedule.pk, slot): one for slot, one in zip(ticked.start, made, strict=True)}
    ids = slot_jobs.materialise(wanted, using=using)
    note([_noted(ticked, ids) for ticked in held], using=using)
    JobEvent.objects.using(using).bulk_create(
        skipped_event(one.schedule.pk, skipped) for one in held for skipped in slots.merged(one.skipped)
    )
    return held


def _locked(batch: Sequence[Ticked], *, using: str) -> list[Ticked]:
    """Lock the schedules that are still as they were read; the others are somebody else's, or were edited."""
    rows = unlocked(CronJob.objects.using(using).filter(pk__in=[one.schedule.pk for one in batch]).order_by("pk"))
    present = {
        pk: (enabled, rescheduled, planned, waits)
        for pk, enabled, rescheduled, planned, waits in rows.values_list(
            "pk",
            "enabled",
            clock.Instant("rescheduled_at"),
            clock.Instant("next_run_at"),
            clock.Instant("waiting_for"),
        )
    }
    return [
        one
        for one in batch
        if present.get(one.schedule.pk) == (one.schedule.enabled, one.schedule.rescheduled, one.planned, one.waited)  # type: ignore[attr-defined]
    ]


def _place(ticked: Ticked, unfinished: list[int]) -> None:
    """Say which slots become jobs, which one waits, and which jobs have to make room for it."""
    schedule, waiting = ticked.schedule, ticked.waited
    ticked.skipped = list(ticked.turn.skipped)
    if waiting is not None and (not schedule.enabled or schedule.disabled_at is not None):
        ticked.skipped.insert(0, Skipped(reason=Reason.PAUSED, first=waiting, last=waiting))
        waiting = None
    if not ticked.error:
        placement = slots.place(ticked.turn.due, Overlap(schedule.overlap), is_busy=bool(unfinished), waiting=waiting)
        ticked.start, waiting = placement.start, placement.waiting
        ticked.skipped += placement.skipped
    ticked.waiting = waiting
    if waiting is not None and schedule.overlap == Overlap.CANCEL_RUNNING:
        ticked.in_the_way = unfinished


def _noted(ticked: Ticked, ids: dict[slot_jobs.Slot, int | None]) -> Noted:
    """Return what has become of a schedule's slots; those refused join the skipped ones."""
    key = ticked.schedule.pk
    started = [slot for slot in ticked.start if ids[key, slot] is not None]
    refused = [slot for slot in ticked.start if ids[key, slot] is None]
    ticked.skipped += [Skipped(reason=Reason.UNIQUE_KEY, first=slot, last=slot) for slot in refused]
    noted = Noted(id=key, waiting_for=ticked.waiting, last_scheduled_for=ticked.turn.seen_until)
    if started:
        noted = replace(noted, last_run_at=ticked.now, last_job_id=ids[key, started[-1]])
    if ticked.is_due:
        noted = replace(noted, next_run_at=_next_run(ticked), error=ticked.error)
    return noted


def _next_run(ticked: Ticked) -> datetime:
    if ticked.turn.next_slot is None or ticked.error:
        return NEVER
    return ticked.turn.next_slot + slots.offset(ticked.schedule.pk, ticked.schedule.jitter)


def skipped_event(cron_id: int, skipped: Skipped) -> JobEvent:
    """Return the event that says which slots did not run, and why."""
    return JobEvent(
        at=clock.now(),
        kind=JobEvent.Kind.SKIPPED,
        cron_id=cron_id,
        reason=str(skipped.reason.label),
        slots={
            "reason": skipped.reason,
            "first": skipped.first.isoformat(),
            "last": skipped.last.isoformat(),
            "count": skipped.count,
        },
    )
