"""Time zones: found by name, and cut into stretches between two changes of their clocks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from ..exceptions import InvalidSchedule, InvalidZone
from ..translating import translated as _

SECOND = timedelta(seconds=1)

# What lies outside is as good as never: shifting it into a zone would overflow.
FIRST, LAST = datetime(2, 1, 1, tzinfo=UTC), datetime(9997, 12, 31, tzinfo=UTC)

# Longer than any change ever moved a clock: across the date line, and an hour more.
MEMORY = timedelta(days=3)

# No zone has ever changed its clocks twice within less.
APART = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """
    A span in which a zone's clocks neither jump nor turn back.

    Moments are aware, in UTC; wall times are naive. ``lived`` is how far the
    clock on the wall had come before: the times from there to ``wall_start``
    are skipped, or if it is past that, those up to it come again.
    """

    start: datetime
    end: datetime
    offset: timedelta
    lived: datetime

    def wall(self, moment: datetime) -> datetime:
        """Return what the clock on the wall shows at a moment."""
        return (moment + self.offset).replace(tzinfo=None)

    def moment(self, wall: datetime) -> datetime:
        """Return when the clock on the wall shows a time."""
        return wall.replace(tzinfo=UTC) - self.offset

    @property
    def wall_start(self) -> datetime:
        return self.wall(self.start)

    @property
    def wall_end(self) -> datetime:
        return self.wall(self.end)


def zone_named(zone: str | tzinfo) -> tzinfo:
    """Return the zone of this IANA name, or ``zone`` itself; raise ``InvalidZone`` if there is none."""
    if isinstance(zone, ZoneInfo | timezone):
        return zone
    if not isinstance(zone, str):
        raise InvalidZone(f"Time zone {zone!r} is not understood: give a name such as 'Europe/Berlin', or a ZoneInfo.")
    try:
        return ZoneInfo(zone)
    # A name that leads out of the database is a ValueError, one that stands for a folder an OSError.
    except (KeyError, ValueError, OSError):
        message = _("Time zone %r is not known: give an IANA name such as 'Europe/Berlin'.") % zone[:80]
        raise InvalidZone(message) from None


def in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC, or the nearest that has a wall time in every zone; raise if it is naive."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise InvalidSchedule(f"Moment {moment!r} is naive: give it a time zone.")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        moment = moment.replace(tzinfo=UTC)
    return min(max(moment, FIRST), LAST)


def stretches(
    zone: tzinfo,
    after: datetime,
    until: datetime,
    *,
    backwards: bool = False,
    wanted: Callable[[int], bool] = lambda year: True,
) -> Iterator[Stretch]:
    """Yield the stretches of wanted years that have a part after ``after`` and up to ``until``."""
    years = range(after.year, until.year + 1)
    for year in filter(wanted, reversed(years) if backwards else years):
        of_year = stretches_of(zone, year)
        for stretch in reversed(of_year) if backwards else of_year:
            if stretch.end > after and stretch.start <= until:
                yield stretch


@lru_cache(maxsize=4096)
def stretches_of(zone: tzinfo, year: int) -> tuple[Stretch, ...]:
    """Return the stretches of a UTC year, in order; one that goes on at New Year is cut there."""
    start, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    earlier = start - MEMORY
    found: list[Stretch] = []
    lived = earlier.replace(tzinfo=None) + _offset(zone, earlier)
    for begin, finish in pairwise(sorted({earlier, start, end, *_changes(zone, earlier, end)})):
        stretch = Stretch(start=begin, end=finish, offset=_offset(zone, begin), lived=lived)
        lived = max(lived, stretch.wall_end)
        found.append(stretch)
    return tuple(stretch for stretch in found if stretch.start >= start)


def _changes(zone: tzinfo, start: datetime, end: datetime) -> Iterator[datetime]:
    old = _offset(zone, start)
    while start < end:
        until = min(start + APART, end)
        new = _offset(zone, until)
        if new != old:
            yield _change(zone, start, until)
        start, old = until, new


def _change(zone: tzinfo, start: datetime, until: datetime) -> datetime:
    old = _offset(zone, start)
    seconds = bisect_left(
        range((until - start) // SECOND), 1, key=lambda seconds: _offset(zone, start + seconds * SECOND) != old
    )
    return start + seconds * SECOND


def _offset(zone: tzinfo, moment: datetime) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()
