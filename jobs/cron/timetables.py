"""Timetables: the slots of a cron expression in a zone, or of an interval, found and counted without walking them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from ..exceptions import InvalidInterval, InvalidSchedule
from ..translating import translated as _
from .expressions import parse
from .walltime import Cron
from .zones import FIRST, LAST, MEMORY, Stretch, in_utc, stretches, zone_named

MAX_INTERVAL_SECONDS = 3650 * 24 * 3600

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICK, SECOND = datetime.resolution, timedelta(seconds=1)

# A 29 February on a given weekday is up to 40 years after the one before.
HORIZON = timedelta(days=41 * 366)


class Timetable(ABC):
    """Slots in rising order. Moments are aware; slots come in UTC. A span excludes ``after`` and includes ``until``."""

    __slots__ = ()

    @abstractmethod
    def after(self, moment: datetime) -> datetime | None:
        """Return the first slot after ``moment``, or None if there is none as far as one looks (41 years)."""

    @abstractmethod
    def latest(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last slot of the span."""

    @abstractmethod
    def count(self, after: datetime, until: datetime) -> int:
        """Count the slots of the span, without walking them."""

    def upcoming(self, after: datetime, count: int) -> list[datetime]:
        """Return the first ``count`` slots after a moment, or fewer if there are no more."""
        slots: list[datetime] = []
        slot = self.after(after) if count > 0 else None
        while slot:
            slots.append(slot)
            slot = self.after(slot) if len(slots) < count else None
        return slots

    def newest(self, after: datetime, until: datetime, limit: int) -> list[datetime]:
        """Return the last ``limit`` slots of the span, in rising order."""
        slots: list[datetime] = []
        slot = self.latest(after, until) if limit > 0 else None
        while slot:
            slots.append(slot)
            slot = self.latest(after, slot - TICK) if len(slots) < limit else None
        return slots[::-1]


def rule_for(
    *,
    expression: str = "",
    every: int | timedelta | None = None,
    zone: str | tzinfo = "UTC",
    starts_at: datetime | None = None,
) -> Timetable:
    """
    Return the timetable of a cron expression or of an interval; raise ``InvalidSchedule`` unless it is one of them.

    No slot is before ``starts_at``, which may be one. An interval takes no
    notice of the zone.
    """
    if bool(expression) == (every is not None):
        raise InvalidSchedule(_("A schedule has a cron expression or an interval ('every'): give one of the two."))
    if every is None:
        return CronRule.of(expression, zone, starts_at=starts_at)
    return IntervalRule.of(every, starts_at=starts_at)


def upcoming(expression: str, zone: str | tzinfo, after: datetime, count: int) -> list[datetime]:
    """Return the first ``count`` slots of a cron expression after an aware moment, in UTC."""
    return CronRule.of(expression, zone).upcoming(after, count)


@dataclass(frozen=True, slots=True, kw_only=True)
class CronRule(Timetable):
    """
    A cron expression in a zone.

    One whose minute or hour starts with ``*`` follows elapsed time: it runs
    whenever the clock shows a matching time, twice in an hour that comes
    twice, and never at a time that is skipped. Any other runs once for each
    time of each day: at the first pass of one that comes twice, and right
    after the jump for all those that it skips.
    """

    cron: Cron
    zone: tzinfo
    starts_at: datetime | None = None

    @classmethod
    def of(cls, expression: str, zone: str | tzinfo, *, starts_at: datetime | None = None) -> CronRule:
        """Return the rule for an expression and a zone's name; raise ``InvalidCron`` or ``InvalidZone``."""
        return cls(cron=parse(expression), zone=zone_named(zone), starts_at=starts_at and in_utc(starts_at))

    def after(self, moment: datetime) -> datetime | None:
        begin = not_before(moment, self.starts_at)
        for stretch in self.stretches(begin, begin + min(HORIZON, LAST - begin)):
            if slot := self._first(stretch, begin):
                return slot if slot <= LAST else None
        return None

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        begin, end = not_before(after, self.starts_at), in_utc(until)
        for stretch in self.stretches(max(begin, end - min(HORIZON, end - FIRST)), end, backwards=True):
            if slot := self._last(stretch, begin, end):
                return slot
        return None

    def count(self, after: datetime, until: datetime) -> int:
        begin, end = not_before(after, self.starts_at), in_utc(until)
        return sum(self._count(stretch, begin, end) for stretch in self.stretches(begin, end))

    def stretches(self, after: datetime, until: datetime, *, backwards: bool = False) -> Iterator[Stretch]:
        """Yield the stretches between two moments, without those of years that have no day for it."""
        return stretches(self.zone, after, until, backwards=backwards, wanted=self._has_days)

    def _has_days(self, year: int) -> bool:
        """Tell whether a year may have slots, in whatever zone: if not, its clocks need not be looked at."""
        return self.cron.days.first(date(year, 1, 1) - MEMORY, date(year, 12, 31) + MEMORY) is not None

    def _first(self, stretch: Stretch, after: datetime) -> datetime | None:
        if after < stretch.start and self._makes_up(stretch):
            return stretch.start
        wall = self.cron.first(*self._walls(stretch, after, stretch.end))
        return wall and stretch.moment(wall)

    def _last(self, stretch: Stretch, after: datetime, until: datetime) -> datetime | None:
        if wall := self.cron.last(*self._walls(stretch, after, until)):
            return stretch.moment(wall)
        return stretch.start if after < stretch.start <= until and self._makes_up(stretch) else None

    def _count(self, stretch: Stretch, after: datetime, until: datetime) -> int:
        count = self.cron.count(*self._walls(stretch, after, until))
        if after < stretch.start <= until and self._makes_up(stretch):
            return count + 1 - self.cron.count(stretch.wall_start, stretch.wall_start + TICK)
        return count

    def _walls(self, stretch: Stretch, after: datetime, until: datetime) -> tuple[datetime, datetime]:
        """Return the span of wall times of a stretch that count: those within the limits, and not lived through."""
        start = max(stretch.wall_start, stretch.wall(after) + TICK)
        if not self.cron.follows_elapsed_time:
            start = max(start, stretch.lived)
        return start, min(stretch.wall_end, stretch.wall(until) + TICK)

    def _makes_up(self, stretch: Stretch) -> bool:
        """Tell whether a stretch starts with a run for times that were skipped before it."""
        if self.cron.follows_elapsed_time:
            return False
        return self.cron.first(stretch.lived, stretch.wall_start) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRule(Timetable):
    """Every so many seconds of elapsed time, counted from ``starts_at``, or without one from the start of 1970 on UTC."""

    every: int
    starts_at: datetime | None = None

    @classmethod
    def of(cls, every: int | timedelta, *, starts_at: datetime | None = None) -> IntervalRule:
        """Return the rule for an interval in whole seconds, or as a timedelta; raise ``InvalidInterval``."""
        return cls(every=_whole_seconds(every), starts_at=starts_at and in_utc(starts_at))

    def after(self, moment: datetime) -> datetime | None:
        return self._slot(self._number(moment) + 1)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        return self._slot(self._number(until)) if self.count(after, until) else None

    def count(self, after: datetime, until: datetime) -> int:
        return max(0, self._number(until) - self._number(after))

    def _number(self, moment: datetime) -> int:
        """Return the number of the last slot up to a moment: -1 if that is before ``starts_at``."""
        return (not_before(moment, self.starts_at) - self._anchor) // (self.every * SECOND)

    def _slot(self, number: int) -> datetime | None:
        try:
            slot = self._anchor + number * self.every * SECOND
        except OverflowError:
            return None
        return slot if slot <= LAST else None

    @property
    def _anchor(self) -> datetime:
        return self.starts_at or EPOCH


def not_before(moment: datetime, starts_at: datetime | None) -> datetime:
    """Return a moment in UTC, but not before the last one ahead of ``starts_at``."""
    return max(in_utc(moment), starts_at - TICK) if starts_at else in_utc(moment)


def _whole_seconds(every: object) -> int:
    seconds = every // SECOND if isinstance(every, timedelta) and not every % SECOND else every
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise InvalidInterval(
            _("Interval %r is not a whole number of seconds: give an int, or a timedelta.") % (every,)
        )
    if not 1 <= seconds <= MAX_INTERVAL_SECONDS:
        values = {"every": every, "most": MAX_INTERVAL_SECONDS}
        raise InvalidInterval(_("Interval %(every)r is out of range: give 1 to %(most)d seconds.") % values)
    return seconds
