"""What a cron expression says of the clock on the wall: which days, and which times of them. No zone yet."""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

DAY = timedelta(days=1)

EVERY, LAST = 0, -1  # which of a month's five Mondays; 1 to 5 are that one

_EVERY_SEVENTH = sum(1 << week * 7 for week in range(5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """
    The days that match, a month at a time, as bits: bit 0 is the 1st.

    ``weekdays`` are pairs of a weekday (0 is Sunday) and which of the month's
    (``EVERY``, 1 to 5, ``LAST``).
    """

    months: frozenset[int]
    dates: int
    has_last_day: bool
    weekdays: tuple[tuple[int, int], ...]
    needs_both: bool

    def first(self, start: date, end: date) -> date | None:
        """Return the first day from ``start`` to ``end``, both included."""
        for year, month in _months(start, end):
            if bits := self._between(year, month, start, end):
                return date(year, month, (bits & -bits).bit_length())
        return None

    def last(self, start: date, end: date) -> date | None:
        """Return the last day from ``start`` to ``end``, both included."""
        for year, month in _months(start, end, backwards=True):
            if bits := self._between(year, month, start, end):
                return date(year, month, bits.bit_length())
        return None

    def count(self, start: date, end: date) -> int:
        """Count the days from ``start`` to ``end``, both included."""
        return sum(self._between(year, month, start, end).bit_count() for year, month in _months(start, end))

    def _between(self, year: int, month: int, start: date, end: date) -> int:
        if month not in self.months:
            return 0
        bits = self._of(year, month)
        if (year, month) == (start.year, start.month):
            bits &= -1 << start.day - 1
        if (year, month) == (end.year, end.month):
            bits &= (1 << end.day) - 1
        return bits

    def _of(self, year: int, month: int) -> int:
        first, length = monthrange(year, month)
        dates = self.dates | (1 << length - 1 if self.has_last_day else 0)
        weekdays = 0
        for weekday, which in self.weekdays:
            weekdays |= _weekday_bits((weekday - 1 - first) % 7, length, which)
        days = dates & weekdays if self.needs_both else dates | weekdays
        return days & (1 << length) - 1


def _weekday_bits(offset: int, length: int, which: int) -> int:
    """Return the days of a weekday whose first one is bit ``offset``."""
    if which == EVERY:
        return _EVERY_SEVENTH << offset
    week = (length - 1 - offset) // 7 if which == LAST else which - 1
    return 1 << offset + 7 * week


def _months(start: date, end: date, *, backwards: bool = False) -> Iterator[tuple[int, int]]:
    months = range(start.year * 12 + start.month - 1, end.year * 12 + end.month)
    for index in reversed(months) if backwards else months:
        yield index // 12, index % 12 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of a matching day, in rising order; ``hours`` and ``minutes`` are sorted."""

    hours: tuple[int, ...]
    minutes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.hours) * len(self.minutes)

    def __getitem__(self, index: int) -> time:
        hour, minute = divmod(index % len(self), len(self.minutes))
        return time(self.hours[hour], self.minutes[minute])

    def before(self, moment: time) -> int:
        """Count the times that are earlier than ``moment``, which is also the index of the first that is not."""
        hour = bisect_left(self.hours, moment.hour)
        count = hour * len(self.minutes)
        if moment.hour not in self.hours[hour : hour + 1]:
            return count
        begun = 1 if moment.second or moment.microsecond else 0
        return count + bisect_left(self.minutes, moment.minute + begun)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """
    A parsed cron expression: the wall times that match, as naive datetimes.

    Ranges include ``start`` and exclude ``end``. ``follows_elapsed_time`` says
    how it takes a change of the clocks: see ``CronRule``.
    """

    text: str
    days: Days
    times: Times
    follows_elapsed_time: bool

    def first(self, start: datetime, end: datetime) -> datetime | None:
        """Return the first wall time in the range."""
        day = self.days.first(start.date(), end.date())
        index = self.times.before(start.time()) if day == start.date() else 0
        if index == len(self.times):
            day, index = self.days.first(start.date() + DAY, end.date()), 0
        wall = datetime.combine(day, self.times[index]) if day else end
        return wall if wall < end else None

    def last(self, start: datetime, end: datetime) -> datetime | None:
        """Return the last wall time in the range."""
        day = self.days.last(start.date(), end.date())
        index = self.times.before(end.time()) if day == end.date() else len(self.times)
        if index == 0:
            day, index = self.days.last(start.date(), end.date() - DAY), len(self.times)
        wall = datetime.combine(day, self.times[index - 1]) if day else None
        return wall if wall and wall >= start else None

    def count(self, start: datetime, end: datetime) -> int:
        """Count the wall times in the range, by whole days."""
        if start >= end:
            return 0
        whole = self.days.count(start.date(), end.date() - DAY) * len(self.times)
        return whole - self._before(start) + self._before(end)

    def _before(self, wall: datetime) -> int:
        """Count the wall times of that day that are earlier."""
        return self.times.before(wall.time()) if self.days.count(wall.date(), wall.date()) else 0
