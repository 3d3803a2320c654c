"""What people do to schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy

from .. import operations, registry
from ..exceptions import JobsError
from ..models import CronJob
from ..operations import Actor
from ..reports import MOST_NAMED, Sentence
from ..stats import schedules
from .actions import Action, Text


def _all_of(rows: QuerySet[CronJob]) -> QuerySet[CronJob]:
    """Return the rows, of which a list gives a part, as a queryset that can be narrowed."""
    return CronJob.objects.using(rows.db).filter(pk__in=list(rows.values_list("pk", flat=True)))


def _toggle(operation: Callable[..., list[str]], done: Any, left_alone: Any) -> Callable[..., Iterator[Sentence]]:
    def toggle(rows: QuerySet[CronJob], **decision: Any) -> Iterator[Sentence]:
        chosen = _all_of(rows)
        changed = len(operation(chosen, **decision))
        if changed:
            yield Sentence(done % changed)
        barred = 0 if operation is operations.disable else _barred(chosen, decision["actor"])
        if left := chosen.count() - changed - barred:
            yield Sentence(left_alone % left, is_good=False)
        if barred:
            text = ngettext(
                "%d schedule was not enabled: its kind has a permission of its own, which you do not have.",
                "%d schedules were not enabled: their kinds have permissions of their own, which you do not have.",
                barred,
            )
            yield Sentence(text % barred, is_good=False)

    return toggle


def _barred(schedules: QuerySet[CronJob], actor: Actor) -> int:
    """Count the disabled ones that this actor may not enable."""
    return schedules.filter(enabled=False, kind__in=registry.barred(actor.permits)).count()


def _trigger(rows: QuerySet[CronJob], **decision: Any) -> Iterator[Sentence]:
    made: list[int] = []
    refused: list[str] = []
    barred = 0
    for schedule in _all_of(rows):
        try:
            made.append(operations.trigger_schedule(schedule, **decision).pk)
        except PermissionDenied:
            barred += 1
        except JobsError as error:
            refused.append(_("%(schedule)s was not run: %(error)s") % {"schedule": schedule, "error": error})
    yield from _made(made)
    yield from _left_alone(refused, barred)


def _made(job_ids: list[int]) -> Iterator[Sentence]:
    if len(job_ids) == 1:
        yield Sentence(_("Job #%d is enqueued. The next slot stays.") % job_ids[0])
    elif job_ids:
        yield Sentence(_("%d jobs are enqueued. The next slots stay.") % len(job_ids))


def _left_alone(refused: list[str], barred: int) -> Iterator[Sentence]:
    for text in islice(refused, MOST_NAMED):
        yield Sentence(text, is_good=False)
    if (unnamed := len(refused) - MOST_NAMED) > 0:
        text = ngettext(
            "%d more schedule was not run, for such a reason.",
            "%d more schedules were not run, for such reasons.",
            unnamed,
        )
        yield Sentence(text % unnamed, is_good=False)
    if barred:
        text = ngettext(
            "%d schedule was not run: its kind has a permission of its own, which you do not have.",
            "%d schedules were not run: their kinds have permissions of their own, which you do not have.",
            barred,
        )
        yield Sentence(text % barred, is_good=False)


def _unless(is_barred: Callable[[CronJob], bool], why_not: Text) -> Callable[[CronJob], Text]:
    return lambda schedule: why_not if is_barred(schedule) else ""


TRIGGER = Action(
    name="trigger",
    permission="trigger_cronjob",
    label=gettext_lazy("Run now"),
    command=gettext_lazy("Run %(rows)s now"),
    hint=gettext_lazy("This makes one extra job. The next slot stays."),
    run=_trigger,
    why_not=lambda schedule: "",
    starts=True,
)
ENABLE = Action(
    name="enable",
    permission="toggle_cronjob",
    label=gettext_lazy("Enable"),
    command=gettext_lazy("Enable %(rows)s"),
    hint=gettext_lazy("Nothing runs at once, and nothing of what was missed meanwhile: the next slot is the first."),
    run=_toggle(
        operations.enable,
        ngettext_lazy("%d schedule is enabled.", "%d schedules are enabled."),
        ngettext_lazy(
            "%d schedule was left alone: it was enabled before.",
            "%d schedules were left alone: they were enabled before.",
        ),
    ),
    why_not=_unless(lambda schedule: schedule.enabled, gettext_lazy("It is enabled.")),
    starts=True,
)
DISABLE = Action(
    name="disable",
    permission="toggle_cronjob",
    label=gettext_lazy("Disable"),
    command=gettext_lazy("Disable %(rows)s"),
    hint=gettext_lazy("No slot runs until it is enabled again. What runs goes on; what has not started is cancelled."),
    run=_toggle(
        operations.disable,
        ngettext_lazy("%d schedule is disabled.", "%d schedules are disabled."),
        ngettext_lazy(
            "%d schedule was left alone: it was disabled before.",
            "%d schedules were left alone: they were disabled before.",
        ),
    ),
    why_not=_unless(lambda schedule: not schedule.enabled, gettext_lazy("It is disabled.")),
    is_danger=True,
)
# Each has a page of its own: a button within the form would be what Enter presses.
ACTIONS = (TRIGGER, ENABLE, DISABLE)


def with_warning(action: Action, rows: QuerySet[CronJob]) -> Action:
    """Return the action, which says so if it would run something beside what has not ended."""
    if action.name != TRIGGER.name:
        return action
    unfinished = schedules.unfinished(list(rows.values_list("pk", flat=True)), using=rows.db)
    if not unfinished:
        return action
    named = ", ".join(f"#{pk}" for pk in unfinished[:MOST_NAMED]) + ("…" if len(unfinished) > MOST_NAMED else "")
    text = ngettext(
        "Job %(jobs)s has not ended: the new one runs beside it.",
        "Jobs %(jobs)s have not ended: the new ones run beside them.",
        len(unfinished),
    )
    return replace(action, warning=text % {"jobs": named})
