"""What is found in another app: a schedule as it would be here, or the reason why it cannot be one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from .. import clock, registry, schedule_values
from ..conf import settings
from ..durations import DAY
from ..exceptions import InvalidSchedule, JobsError
from ..models import CronJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """
    A schedule of the other app: ``values`` are the columns of ours.

    ``lost`` is what of it is not carried over, ``held_back`` why it stays
    disabled, and ``refusal`` why it cannot be created at all.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    refusal: str = ""
    was_enabled: bool = True

    def schedule(self, *, enable: bool = False) -> CronJob:
        """Return the schedule, not saved: enabled if that is asked for, it was so, and nothing holds it back."""
        is_enabled = enable and self.was_enabled and not self.held_back
        return CronJob(name=self.name, enabled=is_enabled, **self.values)


def checked(name: str, translate: Callable[[], Found]) -> Found:
    """Return what ``translate`` finds, refused if it raises or finds what no schedule may be."""
    try:
        found = translate()
        problems = schedule_values.problems(found.schedule())
    # What other apps let into their rows has no bounds, and one bad row stops no other.
    except (JobsError, ArithmeticError, AttributeError, ValueError, TypeError, MemoryError, RecursionError) as error:
        return Found(name=name, refusal=str(error) or type(error).__name__)
    if problems:
        return replace(found, refusal=" ".join(problems.values()))
    return replace(found, held_back=(*found.held_back, *_unknown(found.values["kind"])))


def _unknown(kind: str) -> Iterator[str]:
    if registry.find(kind) is None and not settings.allow_unknown_kinds:
        yield f"No handler is registered for kind {kind!r}: decorate one with @jobs.job({kind!r})."


def kind_named(name: str) -> str:
    """Return the kind whose handler has this name, be it as an alias, or else the name."""
    definition = registry.find(name)
    return name if definition is None else definition.kind


def once(moment: datetime, *, now: datetime) -> dict[str, Any]:
    """Return the rule that has one slot, which is to come."""
    if clock.aware(moment) <= now:
        raise InvalidSchedule(f"It was to run once, at {moment}, which has passed: enqueue a job if it has to run yet.")
    return {"every": DAY, "starts_at": moment, "ends_at": moment}
