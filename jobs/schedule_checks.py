"""Which values each field of a schedule may have, whatever the others are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from django.conf import settings as django_settings
from django.utils import timezone

from . import cron, payload
from .conf import settings
from .exceptions import InvalidSchedule
from .options import check_kind, check_max_attempts, check_priority, check_queue
from .retry import seconds
from .slots import CatchUp, Overlap
from .translating import translated as _

MOST_CATCH_UP = 10_000
YEARS = 100 * 366 * 86_400
# The times that a schedule may have: PostgreSQL has infinite ones, and years that Python has not.
EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9900, 1, 1, tzinfo=UTC)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
        raise InvalidSchedule(_("name=%r is no name: use 1 to 200 printable characters.") % (name,))


def _check_expression(expression: Any) -> None:
    if expression != "":
        cron.validate(expression)


def _check_every(every: Any) -> None:
    if every is not None:
        cron.IntervalRule.of(every)


def _check_timezone(zone: Any) -> None:
    # By its name, which is what is stored: not every zone has one.
    cron.zone_named(str(zone) if isinstance(zone, tzinfo) else zone)


def _check_enabled(value: Any) -> None:
    if value not in (True, False):
        raise InvalidSchedule(f"enabled={value!r} is neither True nor False.")


def _check_jitter(jitter: Any) -> None:
    _whole("jitter", jitter, 0, 86_400)


def _check_limit(limit: Any) -> None:
    _whole("catch_up_limit", limit, 1, MOST_CATCH_UP)


def _check_window(window: Any) -> None:
    _whole("catch_up_window", window, 0, YEARS)


def _whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        values = {"name": name, "value": value, "least": least, "most": most}
        message = _("%(name)s=%(value)r is out of range: give a whole number from %(least)d to %(most)d.")
        raise InvalidSchedule(message % values)


def _check_catch_up(value: Any) -> None:
    _one_of("catch_up", value, CatchUp.values)


def _check_overlap(value: Any) -> None:
    _one_of("overlap", value, Overlap.values)


def _one_of(name: str, value: Any, choices: list[str]) -> None:
    if value not in choices:
        message = _("%(name)s=%(value)r is not known: give %(choices)s.")
        raise InvalidSchedule(message % {"name": name, "value": value, "choices": ", ".join(map(repr, choices))})


def _check_moment(moment: Any) -> None:
    if moment is None:
        return
    if not isinstance(moment, datetime):
        raise InvalidSchedule(f"{moment!r} is not a datetime.")
    if not EARLIEST.year <= moment.year < LATEST.year:
        values = {"moment": moment, "earliest": EARLIEST.year, "latest": LATEST.year - 1}
        message = _("%(moment)s is out of range: give a year from %(earliest)d to %(latest)d.")
        raise InvalidSchedule(message % values)
    if django_settings.USE_TZ and timezone.is_naive(moment):
        message = _("%(moment)s has no time zone: use django.utils.timezone.make_aware().")
        raise InvalidSchedule(message % {"moment": moment})


def _check_args(args: Any) -> None:
    if not isinstance(args, list | tuple):
        raise InvalidSchedule(_("args is a %s: give a list.") % type(args).__name__)
    payload.check(args, "args", max_bytes=settings.payload_max_bytes)


def _object(name: str) -> Callable[[Any], None]:
    def check_object(value: Any) -> None:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            message = _("%(name)s=%(value)r is no dictionary with text as keys.")
            raise InvalidSchedule(message % {"name": name, "value": value})
        payload.check(value, name, max_bytes=settings.payload_max_bytes)

    return check_object


def _unless(nothing: Any, check_one: Callable[[Any], object]) -> Callable[[Any], None]:
    def check_unless(value: Any) -> None:
        if value != nothing:
            check_one(value)

    return check_unless


def _check_key(key: Any) -> None:
    if not isinstance(key, str) or len(key) > 250:
        raise InvalidSchedule(_("unique_key=%r is no key: give a text of at most 250 characters.") % (key,))
    payload.check(key, "unique_key", max_bytes=2_000)


CHECKS: dict[str, Callable[[Any], object]] = {
    "name": _check_name,
    "kind": check_kind,
    "args": _check_args,
    "payload": _object("payload"),
    "queue": _unless("", check_queue),
    "priority": _unless(None, check_priority),
    "max_attempts": _unless(None, check_max_attempts),
    "timeout": _unless(None, lambda value: seconds(value, "timeout", least=0.001)),
    "unique_key": _check_key,
    "expires_after": _unless(None, lambda value: seconds(value, "expires_after", least=1)),
    "metadata": _object("metadata"),
    "expression": _check_expression,
    "every": _check_every,
    "timezone": _check_timezone,
    "enabled": _check_enabled,
    "starts_at": _check_moment,
    "ends_at": _check_moment,
    "jitter": _check_jitter,
    "catch_up": _check_catch_up,
    "catch_up_limit": _check_limit,
    "catch_up_window": _check_window,
    "overlap": _check_overlap,
}
