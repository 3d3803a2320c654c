"""What a schedule does with the slots that have come: which run, which wait, which are skipped and why. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from .cron import Timetable

# How late a slot may be noticed and still be on time: alone, and when others have passed since.
ON_TIME = timedelta(seconds=60)
PROMPT = timedelta(seconds=5)
# Stands for "no further slot" where a time is stored: NULL means "to be planned".
NEVER = datetime(9000, 1, 1, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)


class CatchUp(TextChoices):
    """What becomes of slots that passed while no worker was there."""

    LATEST = "latest", _("Run the latest")
    ALL = "all", _("Run all, up to the limit")
    SKIP = "skip", _("Run none")


class Overlap(TextChoices):
    """What becomes of a slot that comes while the job of an earlier one is not finished."""

    ALLOW = "allow", _("Run beside it")
    SKIP = "skip", _("Skip the new one")
    QUEUE_ONE = "queue_one", _("Keep the newest one waiting")
    CANCEL_RUNNING = "cancel_running", _("Cancel the old one, then run")


class Reason(TextChoices):
    """Why a slot did not run."""

    OVERLAP = "overlap", _("the job of an earlier slot was not finished")
    REPLACED = "replaced", _("a newer slot took its place in waiting")
    CATCH_UP = "catch_up", _("missed, and the catch-up policy does not run it")
    LIMIT = "limit", _("missed, and beyond the catch-up limit")
    WINDOW = "window", _("missed, and older than the catch-up window")
    UNIQUE_KEY = "unique_key", _("another live job held its unique key")
    PAUSED = "paused", _("the schedule was disabled")
    ENDED = "ended", _("the schedule had ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a schedule treats what it missed. A slot at ``ends_at`` itself may still run."""

    catch_up: CatchUp = CatchUp.LATEST
    limit: int = 100
    window: timedelta = timedelta(days=366)
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """``count`` slots from ``first`` to ``last`` that did not run."""

    reason: Reason
    first: datetime
    last: datetime
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a schedule does now: the slots to run, oldest first, those it skips, and the slot to come (None: no more)."""

    due: list[datetime] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    seen_until: datetime | None = None
    next_slot: datetime | None = None


def offset(key: int, jitter: float) -> timedelta:
    """Return how long after its slots schedule ``key`` runs: always the same, from 0 to ``jitter`` seconds."""
    share = zlib.crc32(str(key).encode()) / 2**32
    return timedelta(milliseconds=int(share * jitter * 1000))


def plan(rule: Timetable, policy: Policy, *, since: datetime, paused_at: datetime | None = None) -> Turn:
    """Return the first turn after an edit: it runs nothing, and the slot to come is strictly after ``since``."""
    skipped = [] if paused_at is None else _skipped(rule, Reason.PAUSED, paused_at, min(since, policy.ends_at or since))
    next_slot, ended = _next(rule, policy, since)
    has_ended_before = policy.ends_at is not None and policy.ends_at < since
    return Turn(skipped=skipped + ([] if has_ended_before else ended), next_slot=next_slot)


def turn(rule: Timetable, policy: Policy, *, since: datetime, now: datetime) -> Turn:
    """Return what to do with the slots after ``since`` up to ``now``."""
    until = now if policy.ends_at is None else min(now, policy.ends_at)
    latest = rule.latest(since, until)
    next_slot, ended = _next(rule, policy, now if latest is None else max(now, latest))
    if latest is None:
        return Turn(skipped=ended, next_slot=next_slot)
    floor = max(since, min(until, now - max(policy.window, ON_TIME)))
    due = _caught_up(rule, policy, floor, until, now)
    first_due = due[0] - INSTANT if due else until
    why = Reason.LIMIT if policy.catch_up is CatchUp.ALL else Reason.CATCH_UP
    skipped = [*_skipped(rule, Reason.WINDOW, since, floor), *_skipped(rule, why, floor, first_due)]
    return Turn(due=due, skipped=skipped + ended, seen_until=latest, next_slot=next_slot)


def _caught_up(rule: Timetable, policy: Policy, after: datetime, until: datetime, now: datetime) -> list[datetime]:
    match policy.catch_up:
        case CatchUp.ALL:
            return rule.newest(after, until, policy.limit)
        case CatchUp.LATEST:
            return rule.newest(after, until, 1)
    newest = rule.newest(after, until, 2)
    patience = ON_TIME if len(newest) == 1 else PROMPT
    return [slot for slot in newest[-1:] if now - slot <= patience]


def _next(rule: Timetable, policy: Policy, after: datetime) -> tuple[datetime | None, list[Skipped]]:
    slot = rule.after(after)
    if slot is None or policy.ends_at is None or slot <= policy.ends_at:
        return slot, []
    # Noticed late, the end lies before what would be next now.
    first = rule.after(min(after, policy.ends_at)) or slot
    return None, [Skipped(reason=Reason.ENDED, first=first, last=first)]


def _skipped(rule: Timetable, reason: Reason, after: datetime, until: datetime) -> list[Skipped]:
    """Return one entry for all slots after ``after`` up to ``until``, or none where there are none."""
    first = rule.after(after) if after < until else None
    last = rule.latest(after, until) if first is not None and first <= until else None
    if first is None or last is None:
        return []
    return [Skipped(reason=reason, first=first, last=last, count=rule.count(after, until))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Which slots become jobs now, which one waits, and which are skipped."""

    start: list[datetime]
    waiting: datetime | None
    skipped: list[Skipped]


def place(due: Sequence[datetime], overlap: Overlap, *, is_busy: bool, waiting: datetime | None) -> Placement:
    """
    Give each due slot its place, oldest first.

    ``is_busy`` says whether the job of an earlier slot is unfinished;
    ``waiting`` is the slot that waited for it. At most one waits, the newest.
    """
    if overlap is Overlap.ALLOW:
        return Placement(start=[*_one(waiting), *due], waiting=None, skipped=[])
    start: list[datetime] = []
    skipped: list[Skipped] = []
    if waiting is not None and not is_busy:
        start, waiting, is_busy = [waiting], None, True
    for slot in due:
        if not is_busy:
            start.append(slot)
            is_busy = True
        elif overlap is Overlap.SKIP:
            skipped.append(Skipped(reason=Reason.OVERLAP, first=slot, last=slot))
        else:
            skipped += [Skipped(reason=Reason.REPLACED, first=old, last=old) for old in _one(waiting)]
            waiting = slot
    return Placement(start=start, waiting=waiting, skipped=skipped)


def _one(slot: datetime | None) -> list[datetime]:
    return [] if slot is None else [slot]


def merged(skipped: Iterable[Skipped]) -> list[Skipped]:
    """Put in order, and join neighbours with the same reason into one entry with their range and count."""
    joined: list[Skipped] = []
    for one in sorted(skipped, key=lambda one: one.first):
        if joined and joined[-1].reason is one.reason:
            joined[-1] = replace(joined[-1], last=one.last, count=joined[-1].count + one.count)
        else:
            joined.append(one)
    return joined
