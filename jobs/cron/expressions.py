"""
How a cron expression is read.

croniter expands the fields, once ``fields`` has checked and bounded them.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from croniter import croniter

from ..exceptions import InvalidCron
from ..translating import translated as _
from .fields import DATE, FIELDS, HOUR, MINUTE, MONTH, WEEKDAY
from .walltime import EVERY, LAST, Cron, Days, Times

MAX_LENGTH = 255

# A list, range or step with spaces in it, which part the fields.
TORN = re.compile(r"[,/-] | [,/-]")

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

# In 28 years every date falls on every weekday; what has no day in them has none at all.
SAMPLE = date(2000, 1, 1), date(2027, 12, 31)


def validate(expression: object) -> str:
    """
    Return the expression with single spaces, and an alias in lower case.

    Raises ``InvalidCron`` for anything that is not understood or never runs.
    """
    return parse(expression).text


def parse(expression: object) -> Cron:
    """Return what an expression means; the same object for the same text. Raises ``InvalidCron``."""
    return _parsed(_normalised(expression))


def _normalised(expression: object) -> str:
    if not isinstance(expression, str):
        kind = type(expression).__name__
        raise InvalidCron(_("A cron expression is text such as '0 3 * * *', this is of type %s.") % kind)
    if len(expression) > MAX_LENGTH:
        values = {"count": len(expression), "most": MAX_LENGTH}
        raise InvalidCron(_("Cron expression has %(count)d characters: give at most %(most)d.") % values)
    if not expression.isascii():
        raise InvalidCron(_("Cron expression %r has characters that no field knows: use plain ASCII.") % expression)
    text = " ".join(expression.split())
    return text.lower() if text.startswith("@") else text


def _never(text: str, day: str, month: str, weekday: str) -> str:
    values = {"text": text, "day": day, "month": month, "weekday": weekday}
    return (
        _(
            "Cron expression %(text)r would never run: no day fits day of month %(day)r, "
            "month %(month)r and weekday %(weekday)r."
        )
        % values
    )


@lru_cache(maxsize=8192)
def _parsed(text: str) -> Cron:
    fields = fields_of(text)
    plain = [field.plain(value) for field, value in zip(FIELDS, fields, strict=True)]
    (minutes, hours, dates, months, weekdays), numbered = croniter.expand(" ".join(plain))
    cron = Cron(
        text=text,
        days=Days(
            months=frozenset(MONTH.values(months)),
            dates=sum(1 << date - 1 for date in DATE.values(dates)),
            has_last_day="l" in dates,
            weekdays=_weekdays(weekdays, numbered),
            needs_both=fields[2].startswith("*") or fields[4].startswith("*"),
        ),
        times=Times(hours=HOUR.values(hours), minutes=MINUTE.values(minutes)),
        follows_elapsed_time=fields[0].startswith("*") or fields[1].startswith("*"),
    )
    if cron.days.first(*SAMPLE) is None:
        raise InvalidCron(_never(text, *fields[2:]))
    return cron


def fields_of(text: str) -> list[str]:
    """Return the five fields of an expression in its normal form; raise ``InvalidCron`` where there are not five."""
    if text.startswith("@"):
        return _alias(text).split()
    fields = text.split()
    if len(fields) == len(FIELDS):
        return fields
    message = _(
        "Cron expression %(text)r has %(count)d fields: give five, minute, hour, day of month, month and weekday."
    )
    if TORN.search(text):
        message = _(
            "Cron expression %(text)r has %(count)d fields: give five, minute, hour, day of month, month and weekday; "
            "within a field there are no spaces, write '1,15' and '1-5'."
        )
    elif len(fields) in {6, 7}:
        message = _(
            "Cron expression %(text)r has %(count)d fields: give five, minute, hour, day of month, month and weekday; "
            "seconds and years are not supported, use 'every' for intervals below a minute."
        )
    raise InvalidCron(message % {"text": text, "count": len(fields)})


def _alias(text: str) -> str:
    if text in ALIASES:
        return ALIASES[text]
    why = _("not known")
    if text == "@reboot":
        why = _("there is no boot to run at, enqueue the job where your program starts")
    values = {"text": text, "why": why, "aliases": ", ".join(ALIASES)}
    raise InvalidCron(_("Cron alias %(text)r: %(why)s; use %(aliases)s or five fields.") % values)


def _weekdays(values: list[int | str], numbered: dict[int, set[int | str]]) -> tuple[tuple[int, int], ...]:
    if not numbered:
        return tuple((weekday, EVERY) for weekday in WEEKDAY.values(values))
    return tuple((weekday, LAST if n == "l" else int(n)) for weekday, which in numbered.items() for n in which)
