"""The page of one schedule: what its templates get, as plain values that a site's own templates can rely on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .. import clock, stats
from ..durations import spoken
from ..models import CronJob, Job
from ..schedules import changed_by_hand
from ..slots import CatchUp
from ..stats import Moment, SlotRun, Standing, schedules, standing
from ..stats.wording import localized
from . import cronjob_shown, shown

if TYPE_CHECKING:
    from .cronjob import CronJobAdmin

MOST_LINES = 30


def page(admin: CronJobAdmin, schedule: Any) -> dict[str, Any]:
    """Return the parts of the page, each with its own small template under ``admin/jobs/cronjob/``."""
    using = schedule._state.db
    runs = schedules.runs(schedule)
    predecessors = schedules.predecessors([schedule], using=using).get(schedule.pk, [])
    return {
        "sign": cronjob_shown.sign(schedule),
        "why": _why(schedule),
        "waiting": "" if schedule.waits is None else cronjob_shown.waiting(admin, schedule, predecessors),
        "facts": list(_facts(admin, schedule, runs)),
        "runs": [_run(admin, run) for run in runs],
        "skips": [
            {"at": shown.moment(skip.at), "slots": skip.slots, "why": skip.why} for skip in schedules.skips(schedule)
        ],
        "history": _history(schedule),
    }


def _why(schedule: Any) -> str:
    """Say in a sentence or two what to expect of it."""
    found = standing(schedule)
    if found is Standing.FAILED:
        return _("%(error)s It runs no more until somebody edits it.") % {"error": schedule.error}
    if found is Standing.LATE:
        late = {"time": _at(schedule.next_run_at), "late": spoken(schedule.read_now - schedule.planned)}
        return _("Its run of %(time)s is %(late)s late: no worker that knows its kind has come to it.") % late
    if found is Standing.ON_TIME:
        values = {"time": _at(schedule.next_run_at), "wait": cronjob_shown.wait(schedule)}
        return _("It runs next at %(time)s, %(wait)s.") % values
    if found is Standing.DISABLED and schedule.disabled_at is not None:
        return _("Nothing runs since %(time)s, until it is enabled.") % {"time": _at(schedule.disabled_at)}
    return str(_WHY[found])


_WHY = {
    Standing.DISABLED: gettext_lazy("Nothing runs until it is enabled."),
    Standing.ENDED: gettext_lazy("Its rule names no further run."),
    Standing.UNPLANNED: gettext_lazy("It is new or was changed: a worker works out its next run in a moment."),
}


def _at(at: Any) -> str:
    return f"{localized(at):%Y-%m-%d %H:%M:%S %Z}".strip()


def _facts(admin: CronJobAdmin, schedule: Any, runs: list[SlotRun]) -> Iterator[tuple[str, Any]]:
    yield _("Rule"), cronjob_shown.rule(schedule)
    yield _("Kind"), schedule.kind
    yield _("Missed runs"), _catch_up(schedule)
    yield _("If the one before has not ended"), schedule.get_overlap_display()
    if runs:
        yield _("Last runs, newest first"), cronjob_shown.strip(admin, (run.job for run in runs))
    yield _("Origin"), "\n".join(_origin(schedule))


def _catch_up(schedule: Any) -> str:
    if schedule.catch_up == CatchUp.ALL:
        values = {"most": schedule.catch_up_limit, "time": spoken(schedule.catch_up_window)}
        return _("Run all, at most %(most)d, missed within %(time)s") % values
    if schedule.catch_up == CatchUp.LATEST:
        return _("Run the latest, if missed within %(time)s") % {"time": spoken(schedule.catch_up_window)}
    return str(schedule.get_catch_up_display())


def _origin(schedule: Any) -> Iterator[str]:
    if schedule.origin != CronJob.Origin.CODE:
        yield str(schedule.get_origin_display())
        return
    yield _("Declared in code. Edits here are kept.")
    differing = [str(CronJob._meta.get_field(name).verbose_name) for name in changed_by_hand(schedule)]  # type: ignore[union-attr]
    if differing:
        yield _("Differs from the code in: %(columns)s.") % {"columns": ", ".join(differing)}


def _run(admin: CronJobAdmin, run: SlotRun) -> dict[str, Any]:
    job = run.job
    return {
        "slot": shown.moment(job.scheduled_for or job.enqueued_at),
        "origin": "" if job.origin == Job.Origin.SLOT else job.get_origin_display(),
        "late": "" if run.late is None else spoken(run.late),
        "state": shown.state(job),
        "error": stats.translated_note(job.error),
        "took": spoken(run.took),
        "attempt": _("%(attempt)d of %(most)d") % {"attempt": job.attempt, "most": job.max_attempts},
        "link": admin.link(Job, job.pk, f"#{job.pk}"),
    }


def _history(schedule: Any) -> list[dict[str, Any]]:
    """Return who did what, newest first: what was decided, and what was edited in an admin."""
    moments = [*schedules.decisions(schedule), *_edits(schedule)]
    newest = sorted(moments, key=lambda moment: clock.aware(moment.at), reverse=True)
    return [
        {"at": shown.moment(moment.at), "title": moment.title, "who": moment.who, "text": moment.text}
        for moment in islice(newest, MOST_LINES)
    ]


def _edits(schedule: CronJob) -> Iterator[Moment]:
    content_type = ContentType.objects.db_manager(LogEntry.objects.db).get_for_model(CronJob)
    entries = LogEntry.objects.filter(content_type=content_type, object_id=str(schedule.pk))
    for entry in entries.select_related("user").order_by("-action_time")[: schedules.NEWEST]:
        yield Moment(
            at=entry.action_time,
            title=str(_TITLES.get(entry.action_flag, "")),
            who=entry.user.get_username(),
            text=capfirst(entry.get_change_message()),
        )


_TITLES = {
    ADDITION: gettext_lazy("Added"),
    CHANGE: gettext_lazy("Edited"),
    DELETION: gettext_lazy("Deleted"),
}
