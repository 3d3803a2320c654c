"""
Cron, minute by minute: a slow second opinion on ``jobs.cron`` that shares no code with it.

Fields are made together with what they mean, and days are walked on a real
clock, with every wall time that was shown or skipped written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

MINUTE = timedelta(minutes=1)

# A zone, and the UTC day on which its clocks change (but for the last).
CHANGES = [
    ("Europe/Berlin", date(2026, 3, 29)),
    ("Europe/Berlin", date(2026, 10, 25)),
    ("Europe/Dublin", date(2026, 3, 29)),
    ("Europe/Dublin", date(2026, 10, 25)),
    ("America/New_York", date(2026, 3, 8)),
    ("America/New_York", date(2026, 11, 1)),
    ("America/St_Johns", date(2010, 3, 14)),
    ("America/St_Johns", date(2010, 11, 7)),
    ("America/Santiago", date(2026, 4, 5)),
    ("America/Santiago", date(2026, 9, 6)),
    ("Australia/Lord_Howe", date(2026, 4, 4)),
    ("Australia/Lord_Howe", date(2026, 10, 3)),
    ("Africa/Cairo", date(2026, 4, 23)),
    ("Africa/Cairo", date(2026, 10, 29)),
    ("Africa/Casablanca", date(2026, 2, 15)),
    ("Africa/Casablanca", date(2026, 3, 22)),
    ("Asia/Beirut", date(2026, 3, 28)),
    ("Asia/Beirut", date(2026, 10, 24)),
    ("Antarctica/Troll", date(2026, 3, 29)),
    ("Antarctica/Troll", date(2026, 10, 25)),
    ("Asia/Dhaka", date(2009, 12, 31)),
    ("Pacific/Apia", date(2011, 12, 30)),
    ("Asia/Kathmandu", date(2026, 2, 28)),
]


@dataclass(frozen=True)
class Written:
    """A field, or part of one, and which wall times it matches."""

    text: str
    matches: Callable[[datetime], bool]

    @property
    def has_star(self) -> bool:
        return self.text[0] == "*"


@dataclass(frozen=True)
class Crontab:
    minute: Written
    hour: Written
    date: Written
    month: Written
    weekday: Written

    @property
    def text(self) -> str:
        return " ".join(field.text for field in (self.minute, self.hour, self.date, self.month, self.weekday))

    @property
    def follows_elapsed_time(self) -> bool:
        return self.minute.has_star or self.hour.has_star

    def matches(self, wall: datetime) -> bool:
        days = [self.date.matches(wall), self.weekday.matches(wall)]
        is_day = all(days) if self.date.has_star or self.weekday.has_star else any(days)
        return is_day and self.minute.matches(wall) and self.hour.matches(wall) and self.month.matches(wall)

    def runs(self, zone: str, day: date) -> list[datetime]:
        """Return what runs within the span of a day, in UTC."""
        return [minute.moment for minute in minutes(zone, day) if self._runs_at(minute)]

    def _runs_at(self, minute: Minute) -> bool:
        if self.follows_elapsed_time:
            return self.matches(minute.shown)
        is_new = self.matches(minute.shown) and not minute.comes_again
        return is_new or any(self.matches(wall) for wall in minute.skipped)


@dataclass(frozen=True)
class Minute:
    """A minute in UTC, what the clock on the wall shows then, and what it skipped to get there."""

    moment: datetime
    shown: datetime
    skipped: list[datetime]
    comes_again: bool


def span(day: date) -> tuple[datetime, datetime]:
    """Return a day and the half days around it, in UTC."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return midnight - timedelta(hours=12), midnight + timedelta(hours=36)


@cache
def minutes(zone: str, day: date) -> list[Minute]:
    start, end = span(day)
    walk = _walk(ZoneInfo(zone), start - timedelta(days=2), end)
    return [minute for minute in walk if minute.moment > start]


def _walk(zone: ZoneInfo, moment: datetime, end: datetime) -> Iterator[Minute]:
    lived: set[datetime] = set()
    expected = moment.astimezone(zone).replace(tzinfo=None)
    while moment <= end:
        shown = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        skipped = []
        while expected < shown:
            skipped.append(expected)
            expected += MINUTE
        unlived = [wall for wall in skipped if wall not in lived]
        yield Minute(moment=moment, shown=shown, skipped=unlived, comes_again=shown in lived)
        lived |= {shown, *skipped}
        expected = shown + MINUTE
        moment += MINUTE


def _among(least: int, size: int, read: Callable[[datetime], int]) -> st.SearchStrategy[Written]:
    """Return fields of numbers: stars, values, ranges that may wrap, steps and lists of those."""

    def member(text: str, values: set[int]) -> Written:
        return Written(text, lambda wall: read(wall) in values)

    def walked(start: int, end: int, step: int) -> set[int]:
        found, value, ahead = set(), start, (end - start) % size
        while ahead >= 0:
            found.add(value)
            ahead -= step
            value = least + (value - least + step) % size
        return found

    last = least + size - 1
    number, steps = st.integers(least, last), st.integers(1, size)
    part = st.one_of(
        st.just(member("*", walked(least, last, 1))),
        st.builds(lambda n: member(f"*/{n}", walked(least, last, n)), steps),
        st.builds(lambda a: member(f"{a}", {a}), number),
        st.builds(lambda a, n: member(f"{a}/{n}", walked(a, last, n)), number, steps),
        st.builds(lambda a, b: member(f"{a}-{b}", walked(a, b, 1)), number, number),
        st.builds(lambda a, b, n: member(f"{a}-{b}/{n}", walked(a, b, n)), number, number, steps),
    )
    return st.one_of(part, part, st.builds(_listed, st.lists(part, min_size=2, max_size=3)))


def _listed(parts: list[Written]) -> Written:
    return Written(",".join(part.text for part in parts), lambda wall: any(part.matches(wall) for part in parts))


def _cron_weekday(wall: datetime) -> int:
    return int(f"{wall:%w}")


def _nth(weekday: int, which: int) -> Written:
    return Written(f"{weekday}#{which}", lambda wall: _cron_weekday(wall) == weekday and (wall.day + 6) // 7 == which)


def _last(weekday: int) -> Written:
    week = timedelta(days=7)
    return Written(f"L{weekday}", lambda wall: _cron_weekday(wall) == weekday and (wall + week).month != wall.month)


STAR = st.just(Written("*", lambda wall: True))
LAST_DAY = Written("L", lambda wall: (wall + timedelta(days=1)).day == 1)
NUMBERED = st.one_of(st.builds(_nth, st.integers(0, 6), st.integers(1, 5)), st.builds(_last, st.integers(0, 6)))

# Most changes of the clocks are at night.
NIGHT = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(
    lambda hours: Written(",".join(map(str, hours)), lambda wall: wall.hour in hours)
)
DATES = _among(1, 31, lambda wall: wall.day)

crontabs = st.builds(
    Crontab,
    minute=_among(0, 60, lambda wall: wall.minute),
    hour=st.one_of(NIGHT, _among(0, 24, lambda wall: wall.hour)),
    date=st.one_of(STAR, DATES, st.just(LAST_DAY), st.builds(lambda part: _listed([part, LAST_DAY]), DATES)),
    month=st.one_of(STAR, _among(1, 12, lambda wall: wall.month)),
    weekday=st.one_of(
        STAR, _among(0, 7, _cron_weekday), st.builds(_listed, st.lists(NUMBERED, min_size=1, max_size=2))
    ),
)
