"""Crontab fields as Celery reads them, and the cron expression that means the same here."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NoReturn

from ..cron.fields import FIELDS, MONTH, WEEKDAY, Field
from ..exceptions import InvalidCron, InvalidSchedule

PART = re.compile(r"(?:\*|(?P<low>[0-9a-z]+)(?:-(?P<high>[0-9a-z]+))?)(?:/(?P<step>0*[1-9][0-9]*))?")
NAMES = {name: field.least + number for field in (WEEKDAY, MONTH) for number, name in enumerate(field.names)}
# The days of a month on which a weekday is its first, second, … of that month.
WEEKS = {which: frozenset(range(7 * which - 6, min(7 * which, 31) + 1)) for which in range(1, 6)}


def expression(minute: str, hour: str, date: str, month: str, weekday: str) -> str:
    """
    Return the cron expression for five fields of Celery's, which must all match.

    Raises ``InvalidSchedule`` for what Celery cannot read, and for days that no expression names.
    """
    texts = ["".join(text.split()).lower() for text in (minute, hour, date, month, weekday)]
    values = [_values(field, text) for field, text in zip(FIELDS, texts, strict=True)]
    fields = [_written(*each) for each in zip(FIELDS, texts, values, strict=True)]
    fields[2], fields[4] = _days(fields[2], fields[4], values[2], values[4])
    return " ".join(fields)


def _values(field: Field, text: str) -> frozenset[int]:
    return frozenset(value for part in text.split(",") for value in _part(field, part))


def _part(field: Field, part: str) -> Sequence[int]:
    match = PART.fullmatch(part)
    if not match or (match["step"] and match["low"] and not match["high"]):
        _refuse(field, part)
    step = int(match["step"] or 1)
    every = range(field.least, field.least + field.size)
    if not match["low"]:
        return every[::step]
    low = _number(field, match["low"], part)
    high = _number(field, match["high"] or match["low"], part)
    values = range(low, high + 1) if low <= high else [*range(low, every.stop), *range(every.start, high + 1)]
    return values[::step]


def _number(field: Field, word: str, part: str) -> int:
    # Celery looks at three letters, in whichever field.
    number = int(word) if word.isdecimal() else NAMES.get(word[:3], -1)
    if not field.least <= number < field.least + field.size:
        _refuse(field, part)
    return number


def _refuse(field: Field, part: str) -> NoReturn:
    raise InvalidSchedule(
        f"{field.name} {part!r} is not what Celery understands, so it has never run: "
        f"it takes numbers from {field.least} to {field.least + field.size - 1}, names, ranges and '*/2'."
    )


def _written(field: Field, text: str, values: Collection[int]) -> str:
    """Return the text itself, where it is known here, or else the values."""
    try:
        field.plain(text)
    except InvalidCron:
        return ",".join(map(str, sorted(values)))
    return text


def _days(date: str, weekday: str, dates: frozenset[int], weekdays: frozenset[int]) -> tuple[str, str]:
    """
    Return day of month and weekday so that both must match.

    Here they do where one of them starts with ``*``; otherwise either is enough.
    """
    if len(dates) == 31:
        return "*", "*" if len(weekdays) == 7 else weekday
    if len(weekdays) == 7:
        return date, "*"
    if date.startswith("*") or weekday.startswith("*"):
        return date, weekday
    weeks = [which for which, of_week in WEEKS.items() if of_week <= dates]
    if dates != frozenset().union(*(WEEKS[which] for which in weeks)):
        raise InvalidSchedule(
            f"It runs on days that are both {date!r} of the month and {weekday!r} of the week, and here a day that is "
            "either would do: schedule one of the two, and let the handler look at the other."
        )
    return "*", ",".join(f"{day}#{which}" for day in sorted(weekdays) for which in weeks)
