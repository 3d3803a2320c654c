"""The tick: due schedules become jobs, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, connections, transaction

from .. import clock, operations, schedule_values, slot_jobs, slots, sql
from ..models import CronJob, Job, JobEvent
from ..slots import NEVER, Overlap, Reason, Skipped, Turn
from .notes import Noted, note, put_off
from .reading import Reading, lock, read

BATCH = 200
ROUNDS = 10
BROKEN_SECONDS = 60.0
BUSY_SECONDS = 1.0
# Somebody holds a lock that is needed, such as an uncommitted job with the unique key of a slot.
BUSY = {sql.LOCK_NOT_AVAILABLE, sql.DEADLOCK_DETECTED}


@dataclass(slots=True, kw_only=True)
class Ticked:
    """What one schedule does in one tick."""

    reading: Reading
    turn: Turn = field(default_factory=Turn)
    start: list[datetime] = field(default_factory=list)
    waiting: datetime | None = None
    skipped: list[Skipped] = field(default_factory=list)
    in_the_way: list[int] = field(default_factory=list)

    @property
    def schedule(self) -> CronJob:
        return self.reading.schedule

    @property
    def has_acted(self) -> bool:
        return self.reading.is_due or bool(self.start) or self.waiting != self.reading.waited


def tick(*, limit: int = BATCH, using: str) -> int:
    """
    Do what up to ``limit`` schedules have to do now, and return how many did something.

    The slots to come are worked out before the transaction opens. A batch
    that fails is done again one by one, and a schedule that fails by itself
    is put off for a minute, with its error on the row. Schedules that others
    have locked are passed over, for those that come after them.
    """
    done = 0
    passed_over: set[int] = set()
    for _ in range(ROUNDS):
        readings = read(limit, besides=passed_over, using=using)
        if not readings:
            break
        held = _carry_out_or_divide(readings, using=using)
        done += sum(ticked.has_acted for ticked in held)
        passed_over |= {reading.schedule.pk for reading in readings} - {ticked.schedule.pk for ticked in held}
        if len(held) == len(readings) or len(readings) < limit:
            break
    return done


def _carry_out_or_divide(readings: Sequence[Reading], *, using: str) -> list[Ticked]:
    """Carry out a batch, or where it fails each schedule by itself; return those that were neither locked nor put off."""
    try:
        with transaction.atomic(using=using):
            held = _carry_out(readings, using=using)
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and _sqlstate(error) not in BUSY:
            raise
        if len(readings) > 1:
            return [one for reading in readings for one in _carry_out_or_divide([reading], using=using)]
        _put_off(readings[0], error, using=using)
        return []
    _make_room(held, using=using)
    return held


def _sqlstate(error: Exception) -> str:
    return getattr(error.__cause__, "sqlstate", None) or ""


def _put_off(broken: Reading, error: Exception, *, using: str) -> None:
    """Take a schedule that fails by itself out of the next ticks, unless somebody has edited it meanwhile."""
    schedule = broken.schedule
    rows = CronJob.objects.using(using).filter(
        pk=schedule.pk, rescheduled_at=clock.at(broken.rescheduled), enabled=schedule.enabled
    )
    if isinstance(error, DatabaseError) and _sqlstate(error) in BUSY:
        put_off(rows, BUSY_SECONDS, "", name=schedule.name)
    else:
        put_off(rows, BROKEN_SECONDS, f"{error}" or type(error).__name__, name=schedule.name)


def _make_room(held: Sequence[Ticked], *, using: str) -> None:
    """Cancel the jobs that slots wait for, where that is the policy."""
    in_the_way = [pk for ticked in held for pk in ticked.in_the_way]
    if in_the_way:
        jobs = Job.objects.using(using).filter(pk__in=in_the_way, cancel_requested_at__isnull=True)
        operations.cancel(jobs, reason="The next slot of its schedule has come.")


def _carry_out(readings: Sequence[Reading], *, using: str) -> list[Ticked]:
    """Write one batch in the caller's transaction; return those that were not somebody else's."""
    turns = {reading.schedule.pk: _turn(reading) for reading in readings}
    if connections[using].vendor == "postgresql":
        sql.run(connections[using], sql.PATIENCE_POSTGRESQL)
    locked = lock(readings, using=using)
    # What was decided holds if it is as it was read; the rest of the row is taken as it is now.
    present = [locked[one.schedule.pk] for one in readings if one.is_still(locked.get(one.schedule.pk))]
    held = [Ticked(reading=reading, turn=turns[reading.schedule.pk]) for reading in present]
    _place_all(held, using=using)
    ids = slot_jobs.materialise(_wanted(held, using=using), using=using)
    note([_noted(ticked, ids) for ticked in held], using=using)
    JobEvent.objects.using(using).bulk_create(
        skipped_event(ticked.schedule.pk, skipped) for ticked in held for skipped in slots.merged(ticked.skipped)
    )
    return held


def _turn(reading: Reading) -> Turn:
    """Work out the turn of one schedule; raise where it has no rule that can be followed."""
    if not reading.is_due:
        return Turn()
    schedule = reading.schedule
    rule, policy = schedule_values.rule(schedule), schedule_values.policy(schedule)
    late = slots.offset(schedule.pk, schedule.jitter)
    high_water = reading.high_water or clock.EPOCH
    if reading.planned is not None:
        since = max(high_water, reading.planned - late - slots.INSTANT)
        return slots.turn(rule, policy, since=since, now=reading.now - late)
    if reading.high_water is None:
        return slots.plan(rule, policy, since=reading.rescheduled, paused_at=reading.paused)
    # A slot whose run, delayed by the jitter, was still to come at the edit or resume still comes.
    since = max(high_water, reading.rescheduled - late)
    paused_at = None if reading.paused is None else max(high_water, reading.paused - late)
    return slots.plan(rule, policy, since=since, paused_at=paused_at)


def _place_all(held: Sequence[Ticked], *, using: str) -> None:
    choosy = [one.schedule.pk for one in held if one.schedule.overlap != Overlap.ALLOW or one.reading.waited]
    unfinished = slot_jobs.unfinished(choosy, using=using)
    for ticked in held:
        _place(ticked, unfinished.get(ticked.schedule.pk, []))


def _place(ticked: Ticked, unfinished: list[int]) -> None:
    """Say which slots become jobs, which one waits, and which jobs have to make room for it."""
    schedule, waiting = ticked.schedule, ticked.reading.waited
    ticked.skipped = list(ticked.turn.skipped)
    if waiting is not None and (not schedule.enabled or ticked.reading.paused is not None):
        ticked.skipped.insert(0, Skipped(reason=Reason.PAUSED, first=waiting, last=waiting))
        waiting = None
    overlap = Overlap(schedule.overlap)
    placement = slots.place(ticked.turn.due, overlap, is_busy=bool(unfinished), waiting=waiting)
    ticked.start, ticked.waiting = placement.start, placement.waiting
    ticked.skipped += placement.skipped
    if ticked.waiting is not None and overlap is Overlap.CANCEL_RUNNING:
        ticked.in_the_way = unfinished


def _wanted(held: Sequence[Ticked], *, using: str) -> dict[slot_jobs.Slot, Any]:
    wanted: dict[slot_jobs.Slot, Any] = {}
    for ticked in held:
        schedule = ticked.schedule
        made = slot_jobs.candidates(schedule, ticked.start, now=ticked.reading.now, origin=Job.Origin.SLOT, using=using)
        wanted |= {(schedule.pk, slot): one for slot, one in zip(ticked.start, made, strict=True)}
    return wanted


def _noted(ticked: Ticked, ids: dict[slot_jobs.Slot, int | None]) -> Noted:
    """Return what has become of a schedule's slots; those refused join the skipped ones."""
    key = ticked.schedule.pk
    started = [slot for slot in ticked.start if ids[key, slot] is not None]
    refused = [slot for slot in ticked.start if ids[key, slot] is None]
    ticked.skipped += [Skipped(reason=Reason.UNIQUE_KEY, first=slot, last=slot) for slot in refused]
    noted = Noted(id=key, waiting_for=ticked.waiting, last_scheduled_for=ticked.turn.seen_until, error="")
    if started:
        noted = replace(noted, last_run_at=ticked.reading.now, last_job_id=ids[key, started[-1]])
    if ticked.reading.is_due:
        noted = replace(noted, next_run_at=_next_run(ticked))
    return noted


def _next_run(ticked: Ticked) -> datetime:
    if ticked.turn.next_slot is None:
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
