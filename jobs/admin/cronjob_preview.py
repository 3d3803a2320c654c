"""What a rule means, before it is saved: in words, and its next runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from django import forms
from django.utils import dateformat
from django.utils.translation import gettext as _

from .. import clock, cron, schedule_values, slots, stats
from ..durations import spoken, spoken_roughly
from ..exceptions import JobsError
from ..models import CronJob
from ..stats import schedules
from ..stats.wording import localized
from .cronjob_form import RULE

MOST_RUNS = 5

Page = dict[str, Any]


def of_input(fields: Mapping[str, forms.Field], data: Any, *, stored: CronJob | None, now: datetime) -> Page:
    """Return the preview of what was typed into these fields, or what is wrong with it."""
    form = forms.Form(data)
    form.fields = {name: deepcopy(fields[name]) for name in RULE}
    if stored is not None:
        # For the fields that this user may not change.
        form.initial = {name: getattr(stored, name) for name in RULE}
    if not form.is_valid():
        return {"problems": list(_problems(form))}
    schedule = CronJob(pk=stored.pk if stored else None, **form.cleaned_data)
    try:
        schedule_values.check(form.cleaned_data)
        return of_schedule(schedule, now=now)
    except JobsError as error:
        return {"problems": [str(error)]}


def _problems(form: forms.Form) -> Iterator[str]:
    for name, messages in form.errors.items():
        for message in messages:
            yield _("%(field)s: %(message)s") % {"field": form[name].label, "message": message}


def of_stored(schedule: CronJob, *, now: datetime) -> Page:
    """Return the preview of a schedule as it is stored, whatever somebody made of its row."""
    try:
        return of_schedule(schedule, now=now)
    except JobsError as error:
        return {"problems": [str(error)]}


def of_schedule(schedule: CronJob, *, now: datetime) -> Page:
    """Return the preview of a rule; raise ``InvalidSchedule`` where there is none."""
    rule, policy = schedule_values.rule(schedule), schedule_values.policy(schedule)
    late = slots.offset(schedule.pk, schedule.jitter) if schedule.pk else slots.offset(0, 0)
    found = cron.preview(rule, schedule.timezone, now - late, MOST_RUNS)
    runs = [run for run in found if policy.ends_at is None or run.at <= policy.ends_at]
    zone = cron.zone_named(schedule.timezone)
    return {
        "words": stats.rule_in_words(schedule),
        "expression": schedule.expression,
        "zone": schedule.timezone,
        "is_utc": schedule.timezone == "UTC",
        "runs": [
            {
                "local": on_clock((run.at + late).astimezone(zone)),
                "utc": on_clock(run.at + late),
                "wait": _("in %(time)s") % {"time": spoken_roughly(run.at + late - now)},
                "note": run.note,
            }
            for run in runs
        ],
        "remarks": list(_remarks(schedule, is_last=0 < len(runs) < MOST_RUNS)),
        "problems": [],
    }


def _remarks(schedule: CronJob, *, is_last: bool) -> Iterator[str]:
    if not schedule.enabled:
        yield _("It is disabled: none of these runs until it is enabled.")
    if is_last:
        yield _("After that it runs no more.")
    yield from _anchor(schedule)
    yield from _jitter(schedule)


def _anchor(schedule: CronJob) -> Iterator[str]:
    """Say what an interval is counted from."""
    if schedule.every is None or schedules.is_single(schedule):
        return
    if schedule.starts_at is None:
        yield _("Counted from the beginning of 1970, in UTC.")
    else:
        yield _("Counted from its start, %(at)s.") % {"at": f"{localized(schedule.starts_at):%Y-%m-%d %H:%M:%S %Z}"}


def _jitter(schedule: CronJob) -> Iterator[str]:
    if schedule.jitter and schedule.pk:
        late = {"time": spoken(slots.offset(schedule.pk, schedule.jitter))}
        yield _("Jitter delays each of its runs by %(time)s, which is in these times.") % late
    elif schedule.jitter:
        most = {"time": spoken(schedule.jitter)}
        yield _("Jitter will delay each of these by the same time, at most %(time)s.") % most


def on_clock(at: datetime) -> str:
    """Return a time with its weekday, as a clock in its zone shows it."""
    return f"{dateformat.format(at, 'D')} {at:%Y-%m-%d %H:%M:%S} {at:%Z}"


def aware_now(using: str) -> datetime:
    return clock.aware(clock.read(using))
