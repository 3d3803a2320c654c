"""Which values a schedule may have, and what rule and policy they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from . import clock, cron, registry, slots
from .conf import settings
from .cron import Timetable
from .exceptions import InvalidJob, InvalidSchedule
from .schedule_checks import CHECKS
from .slots import CatchUp, Overlap, Policy
from .translating import translated as _

if TYPE_CHECKING:
    from .models import CronJob


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
    found: list[datetime] = []
    while len(found) < count and (slot := next_slot(when, how, after)) is not None:
        found.append(slot)
        after = slot
    return found


def next_slot(rule: Timetable, policy: Policy, after: datetime) -> datetime | None:
    """Return the first slot after ``after`` within the time that the schedule is in force."""
    return slots.plan(rule, policy, since=after).next_slot


def _aware(moment: datetime | None) -> datetime | None:
    return None if moment is None else clock.aware(moment)


def check(values: Mapping[str, Any]) -> None:
    """Raise ``InvalidSchedule`` for the first of these values that, whatever the others are, no schedule may have."""
    for name, value in values.items():
        if name in CHECKS and not hasattr(value, "resolve_expression"):
            for message in _problem(CHECKS[name], value):
                raise InvalidSchedule(message)


def problems(schedule: CronJob) -> dict[str, str]:
    """Return what is wrong, by field."""
    deferred = schedule.get_deferred_fields()
    found: dict[str, str] = {}
    for name, check_one in CHECKS.items():
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
