"""
A rule in words, for those who do not read cron expressions.

The words are those of cron-descriptor, which is optional. It knows another
dialect than ours, so it is asked only for what means the same in both.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.utils.translation import get_language, gettext, to_locale

from ..durations import spoken
from .expressions import fields_of, validate

try:
    import cron_descriptor
except ImportError:
    cron_descriptor = None

# A step has to come out even, or "every 40 minutes" would be said of the minutes 0 and 40.
_EVEN_STEPS = {0: 60, 1: 24, 3: 12}
_VALUES = re.compile(r"\*|\w+(-\w+)?(,\w+(-\w+)?)*|\w+#\d")
# Beside days of month it puts an "or" before these alone: of a range it would seem that both must fit.
_PLAIN_WEEKDAYS = re.compile(r"(\d|[a-z]{3})(,(\d|[a-z]{3}))*", re.IGNORECASE)
_LAST_AMONG_OTHERS = re.compile(r"l,|.*,l\b", re.IGNORECASE)
_NAMES = re.compile(
    r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|"
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
)


def in_words(expression: str) -> str:
    """Say a cron expression in the present language, or return it as it is where that cannot be done truly."""
    return _in_words(validate(expression), to_locale(get_language() or "en"))


def interval_in_words(seconds: int) -> str:
    return gettext("Every %(time)s") % {"time": spoken(seconds)}


@lru_cache(maxsize=1024)
def _in_words(expression: str, language: str) -> str:
    fields = fields_of(expression)
    if cron_descriptor is None or not _are_said_truly(fields):
        return expression
    # Unless it is verbose it leaves out "every day" where a time stands alone.
    verbose = not fields[1].startswith("*") and fields[2] == fields[4] == "*"
    options = _options(verbose=verbose, use_24hour_time_format=True, locale_code=_locale(language))
    try:
        words = cron_descriptor.ExpressionDescriptor(" ".join(fields).upper(), options).get_description()
    except (cron_descriptor.FormatException, cron_descriptor.MissingFieldException):
        return expression
    # It leaves the names of days and months to the process, which serves people of many languages.
    return _NAMES.sub(lambda name: gettext(name[0]), words)


def _options(**values: Any) -> Any:
    if not _is_old():
        return cron_descriptor.Options(**values)
    options = cron_descriptor.Options()
    vars(options).update(values)
    return options


def _is_old() -> bool:
    """
    Say whether it is version 1, which django-celery-beat asks for.

    It says "only" where a day of either is meant, and "between" two hours
    where each of them is, on the hour.
    """
    return str(cron_descriptor.__version__).startswith("1.")


def _are_said_truly(fields: list[str]) -> bool:
    minute, hour, date, _, weekday = fields
    # Beside other hours a range is "at 09:00 through 11:59", as if it were all that time.
    if minute == "0" and "-" in hour and (_is_old() or "," in hour):
        return False
    if date != "*" and weekday != "*" and (_is_old() or not _PLAIN_WEEKDAYS.fullmatch(weekday)):
        return False
    if _LAST_AMONG_OTHERS.match(date):
        return False
    return all(_is_said_truly(place, field) for place, field in enumerate(fields))


def _is_said_truly(place: int, field: str) -> bool:
    start, _, step = field.partition("/")
    if step:
        return start == "*" and place in _EVEN_STEPS and _EVEN_STEPS[place] % int(step) == 0
    return _VALUES.fullmatch(field) is not None


def _locale(language: str) -> str:
    """Return the locale that cron-descriptor has for ``language``; it falls back to English by itself."""
    package: Any = cron_descriptor
    known = sorted(path.stem for path in (Path(package.__file__).parent / "locale").glob("*.mo"))
    same = [name for name in known if name.partition("_")[0] == language.partition("_")[0]]
    return language if language in known or not same else same[0]
