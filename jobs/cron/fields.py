"""
The five fields of a cron expression: what each may hold, checked part by part.

Nothing is expanded before its bounds are known, and what croniter reads
wrongly it is given in other words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from ..exceptions import InvalidCron
from ..translating import gettext_noop
from ..translating import translated as _

PART = re.compile(r"(?:\*|(?P<low>[0-9a-z]+)(?:-(?P<high>[0-9a-z]+))?)(?:/(?P<step>[0-9]+))?")
NOTHING = re.compile(r"(?!)")
LAST_DAY = re.compile(r"l")
NUMBERED = re.compile(r"(?P<weekday>[0-9a-z]+)#(?P<which>[0-9]+)|l(?P<last>[0-9]+)")

# What other dialects have, and what to say about it.
ADVICE = (
    (r".*\?.*", gettext_noop("'?' is not supported, write '*'")),
    (r"[hr](\(.*)?(/.*)?", gettext_noop("hashed and random values are not supported, give the schedule a jitter")),
    (r"l?w|wl|w\d+|\d+w", gettext_noop("the nearest weekday (W) is not supported")),
    (r"\d*c", gettext_noop("the calendar (C) is not supported")),
    (
        r"l(\W.*|\d+)?|.*-l|\d+l|[a-z]{3}l",
        gettext_noop("L is the last day, alone in day of month, and L5 in weekday the last Friday"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """
    One of the five fields: ``size`` values from ``least``.

    ``most`` is the greatest number it accepts, ``special`` what only it knows,
    ``mixes`` whether a list may hold that beside plain values, and ``star``
    what croniter is told for ``*``.
    """

    name: str
    least: int
    most: int
    size: int
    example: str
    names: tuple[str, ...] = ()
    special: re.Pattern[str] = NOTHING
    mixes: bool = True
    star: str = "*"

    def plain(self, text: str) -> str:
        """Return the field in terms that croniter reads as they are meant; raise ``InvalidCron`` if there are none."""
        parts = text.split(",")
        plain = [self._plain_part(part) for part in parts]
        if not self.mixes and len({bool(self.special.fullmatch(part.lower())) for part in parts}) > 1:
            self._raise(text, _("%(field)s %(value)r mixes days of every week with days of some: use one kind."))
        return ",".join(plain)

    def values(self, expanded: list[int | str]) -> tuple[int, ...]:
        """Return what croniter made of the field as sorted numbers."""
        if "*" in expanded:
            return tuple(range(self.least, self.least + self.size))
        return tuple(sorted(value for value in expanded if isinstance(value, int)))

    def _plain_part(self, part: str) -> str:
        if special := self.special.fullmatch(part.lower()):
            return self._checked_special(part, **special.groupdict())
        match = PART.fullmatch(part.lower())
        if not match:
            self._refuse(part)
        low, high, step = match.group("low", "high", "step")
        if step and not 1 <= int(step) <= self.size:
            self._raise(part, _("%(field)s %(value)r has a step out of range: use 1-%(most)d."), most=self.size)
        if not low:
            return part.replace("*", self.star)
        start = self._number(low, part)
        return self._plain_range(part, start, self._number(high, part), int(step or 1)) if high else part

    def _plain_range(self, part: str, start: int, end: int, step: int) -> str:
        if start < end <= self._last:
            return part
        # croniter takes an equal range for the whole field, and may go on at a
        # wrong value where a stepped range wraps.
        values = range(start, (end if start <= end else end + self.size) + 1, step)
        return ",".join(str(self.least + (value - self.least) % self.size) for value in values)

    def _checked_special(
        self, part: str, *, weekday: str | None = None, which: str | None = None, last: str | None = None
    ) -> str:
        if number := weekday or last:
            self._number(number, part)
        if which and not 1 <= int(which) <= 5:
            self._raise(part, _("%(field)s %(value)r is out of range: use #1 to #5, or L5 for the last Friday."))
        return part

    def _number(self, value: str, part: str) -> int:
        if value in self.names:
            return self.least + self.names.index(value)
        if not value.isdecimal():
            self._refuse(part)
        if not self.least <= int(value) <= self.most:
            self._raise(part, _("%(field)s %(value)r is out of range: %(advice)s."), advice=self._allowed)
        return int(value)

    def _refuse(self, part: str) -> NoReturn:
        fitting = (_(advice) for pattern, advice in ADVICE if re.fullmatch(pattern, part.lower()))
        advice = next(fitting, self._allowed)
        self._raise(part, _("%(field)s %(value)r is not understood: %(advice)s."), advice=advice)

    def _raise(self, value: str, message: str, **more: object) -> NoReturn:
        raise InvalidCron(message % {"field": _(self.name), "value": value, **more})

    @property
    def _last(self) -> int:
        return self.least + self.size - 1

    @property
    def _allowed(self) -> str:
        names = f", {self.names[0].upper()}-{self.names[-1].upper()}" if self.names else ""
        values = f"{self.least}-{self.most}{names}"
        return _("use %(values)s, '*' or %(example)s") % {"values": values, "example": _(self.example)}


MINUTE = Field(name=gettext_noop("Minute"), least=0, most=59, size=60, example=gettext_noop("steps such as '*/5'"))
HOUR = Field(name=gettext_noop("Hour"), least=0, most=23, size=24, example=gettext_noop("ranges such as '9-17'"))
DATE = Field(
    name=gettext_noop("Day of month"),
    least=1,
    most=31,
    size=31,
    example=gettext_noop("L, the last day"),
    special=LAST_DAY,
)
MONTH = Field(
    name=gettext_noop("Month"),
    least=1,
    most=12,
    size=12,
    example=gettext_noop("lists such as '1,7'"),
    names=("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
)
WEEKDAY = Field(
    name=gettext_noop("Weekday"),
    least=0,
    most=7,
    size=7,
    example=gettext_noop("MON#2, the second Monday"),
    names=("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
    special=NUMBERED,
    mixes=False,
    # With a "*" here croniter takes a day of month of 2-31,L for any day.
    star="0-6",
)

FIELDS = (MINUTE, HOUR, DATE, MONTH, WEEKDAY)
