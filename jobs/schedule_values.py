"""Which values a schedule may have, and what rule and policy they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from django.conf import settings as django_settings
from django.utils import timezone

from . import clock, cron, payload, registry, slots
from .conf import settings
from .cron import Timetable
from .exceptions import InvalidJob, InvalidSchedule
from .options import check_kind, check_max_attempts, check_priority, check_queue
from .retry import seconds
from .slots import CatchUp, Overlap, Policy
from .translating import translated as _

if TYPE_CHECKING:
    from .models import CronJob

MOST_CATCH_UP = 10_000
YEARS = 100 * 366 * 86_400
# The times that a schedule may have: PostgreSQL has infinite ones, and years that Python has not.
EARLIEST, LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9900, 1, 1, tzinfo=UTC)


def rule(schedule: CronJob) -> Timetable:
    """Return the slots of a schedule; raise ``InvalidSchedule`` where it has no rule that can be followed."""
    return cron.rule_for(
        expression=schedule.expression,
        every=schedule.every,
        zone=schedule.timezone,
        starts_at=_aware(schedule.starts_at),
    )


def policy(schedule: CronJob) -> Policy:
    return Policy(
        catch_up=CatchUp(schedule.catch_up),
        limit=schedule.catch_up_limit,
        window=timedelta(seconds=schedule.catch_up_window),
        ends_at=_aware(schedule.ends_at),
    )


def upcoming(schedule: CronJob, count: int, *, after: datetime) -> list[datetime]:
    """Return the first ``count`` slots after ``after`` within the time that the schedule is in force."""
    when, how = rule(schedule), policy(schedule)
    slots: list[datetime] = []
    while len(slots) < count and (slot := next_slot(when, how, after)) is not None:
        slots.append(slot)
        after = slot
    return slots


def next_slot(rule: Timetable, policy: Policy, after: datetime) -> datetime | None:
    """Return the first slot after ``after`` within the time that the schedule is in force."""
    return slots.plan(rule, policy, since=after).next_slot


def _aware(moment: datetime | None) -> datetime | None:
    return None if moment is None else clock.aware(moment)


def check(values: Mapping[str, Any]) -> None:
    """Raise ``InvalidSchedule`` for the first of these values that, whatever the others are, no schedule may have."""
    for name, value in values.items():
        if name in _CHECKS and not hasattr(value, "resolve_expression"):
            for message in _problem(_CHECKS[name], value):
                raise InvalidSchedule(message)


def problems(schedule: CronJob) -> dict[str, str]:
    """Return what is wrong, by field."""
    deferred = schedule.get_deferred_fields()
    found: dict[str, str] = {}
    for name, check_one in _CHECKS.items():
        if name not in deferred:
            for message in _problem(check_one, getattr(schedule, name)):
                found[name] = message
    return found if found or deferred else _conflicts(schedule)


def normal(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return these values, which have been checked, as they are stored."""
    stored = dict(values)
    if isinstance(values.get("expression"), str) and values["expression"]:
        stored["expression"] = cron.validate(values["expression"])
    if isinstance(values.get("every"), timedelta):
        stored["every"] = int(values["every"].total_seconds())
    if isinstance(values.get("timezone"), tzinfo):
        stored["timezone"] = str(values["timezone"])
    return stored


def _problem(check_one: Callable[[Any], object], value: Any) -> Iterator[str]:
    try:
        check_one(value)
    except (InvalidJob, InvalidSchedule) as error:
        yield str(error)


def _conflicts(schedule: CronJob) -> dict[str, str]:
    """Return what is wrong with values that are right by themselves."""
    if bool(schedule.expression) == (schedule.every is not None):
        return {"expression": _("Give either a cron expression or an interval (every), not both and not neither.")}
    if schedule.starts_at and schedule.ends_at and clock.aware(schedule.ends_at) < clock.aware(schedule.starts_at):
        times = {"end": schedule.ends_at, "start": schedule.starts_at}
        return {"ends_at": _("ends_at=%(end)s is before starts_at=%(start)s: it would never run.") % times}
    if schedule.catch_up == CatchUp.ALL and schedule.overlap == Overlap.SKIP:
        return {
            "overlap": _(
                "Running all that was missed and skipping what overlaps contradict each other: "
                "choose overlap='allow' (queue_one would keep only the newest of them), or catch_up='latest'."
            )
        }
    definition = registry.find(schedule.kind)
    if definition is None and not settings.allow_unknown_kinds and schedule.asks_for_handler:
        return dict(_kind_problem(schedule.kind))
    if definition is not None:
        return dict(_argument_problems(definition, schedule))
    return {}


def _kind_problem(kind: str) -> Iterator[tuple[str, str]]:
    try:
        registry.resolve(kind)
    except InvalidJob as error:
        yield "kind", str(error)


def _argument_problems(definition: Any, schedule: CronJob) -> Iterator[tuple[str, str]]:
    try:
        definition.check_arguments(schedule.args, schedule.payload)
    except InvalidJob as error:
        yield "payload", str(error)


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


_CHECKS: dict[str, Callable[[Any], object]] = {
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
