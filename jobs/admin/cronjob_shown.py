"""How the standing, the rule and the last run of a schedule look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from .. import clock, stats
from ..durations import spoken, spoken_roughly
from ..models import CronJob, Job
from ..stats import Standing
from ..stats.wording import localized
from . import shown

if TYPE_CHECKING:
    from .base import ReadOnlyAdmin

SIGNS = {
    Standing.ON_TIME: ("◷", ""),
    Standing.LATE: ("!", "bad"),
    Standing.FAILED: ("✕", "bad"),
    Standing.ENDED: ("■", ""),
    Standing.UNPLANNED: ("…", ""),
    Standing.DISABLED: ("⊘", ""),
}
ERROR_CHARS = 120


def name(schedule: CronJob) -> SafeString:
    """Return its name, and below it the kind of its jobs."""
    return format_html('{} <span class="jobs-quiet jobs-below">{}</span>', schedule.name, schedule.kind)


def rule(schedule: CronJob) -> SafeString:
    """Return when it runs, in words, with the expression as it is stored and the zone, which an interval has not."""
    if schedule.every is not None:
        return format_html("{}", stats.rule_in_words(schedule))
    words = stats.rule_in_words(schedule)
    details = [schedule.timezone] if words == schedule.expression else [schedule.expression, schedule.timezone]
    lines = format_html_join("", '<div><bdi dir="ltr">{}</bdi></div>', ((detail,) for detail in details))
    return format_html('{}<div class="jobs-quiet">{}</div>', words, lines)


def sign(schedule: Any) -> SafeString:
    standing = stats.standing(schedule)
    return shown.sign(*SIGNS[standing], standing.label)


def next_run(admin: ReadOnlyAdmin, schedule: Any, predecessors: Sequence[int]) -> SafeString:
    """Return when it runs next or, if there is one, what stands against that."""
    lines = [_next(schedule)]
    if schedule.waits is not None:
        lines.append(_waiting(admin, schedule, predecessors))
    return format_html_join("", "<div>{}</div>", ((line,) for line in lines))


def _next(schedule: Any) -> SafeString:
    standing = stats.standing(schedule)
    glyph, tone = SIGNS[standing]
    match standing:
        case Standing.DISABLED:
            return _since(schedule)
        case Standing.FAILED:
            error = Truncator(schedule.error).chars(ERROR_CHARS)
            again = "" if schedule.put_off_until is None else _("Tried again at")
            moment = "" if schedule.put_off_until is None else _quiet(schedule.put_off_until)
            sign = shown.sign(glyph, tone, _("Error"))
            return format_html('{} <div class="jobs-quiet">{}</div> {} {}', sign, error, again, moment)
        case Standing.ENDED | Standing.UNPLANNED:
            return shown.sign(glyph, tone, standing.label)
        case Standing.LATE:
            late = _("%(time)s late") % {"time": spoken(schedule.read_now - schedule.planned)}
            return format_html("{} {}", shown.sign(glyph, tone, late), _quiet(schedule.next_run_at))
    return format_html("{} {}", wait(schedule), _quiet(schedule.next_run_at))


def _since(schedule: Any) -> SafeString:
    glyph, tone = SIGNS[Standing.DISABLED]
    if schedule.disabled_since is None:
        return shown.sign(glyph, tone, _("Disabled"))
    return format_html("{} {}", shown.sign(glyph, tone, _("Disabled since")), _quiet(schedule.disabled_at))


def wait(schedule: Any) -> str:
    """Return how long it is until the next run of a schedule that is on time."""
    left = schedule.planned - schedule.read_now
    return _("in %(time)s") % {"time": spoken_roughly(left)} if left.total_seconds() > 0 else _("due now")


def _waiting(admin: ReadOnlyAdmin, schedule: Any, predecessors: Sequence[int]) -> SafeString:
    slot = format_html("{} {}", shown.sign("‖", "warn", _("One slot waits")), _quiet(schedule.waiting_for))
    if not predecessors:
        return slot
    return format_html('{} <div class="jobs-quiet">{} {}</div>', slot, _("unfinished:"), _links(admin, predecessors))


def waiting(admin: ReadOnlyAdmin, schedule: Any, predecessors: Sequence[int]) -> SafeString:
    """Say in a sentence which slot waits, and for what."""
    slot = f"{localized(schedule.waiting_for):%Y-%m-%d %H:%M:%S}"
    if not predecessors:
        return format_html(_("The slot of {} waited for its predecessor, and runs in a moment."), slot)
    return format_html(_("The slot of {} waits until {} has ended."), slot, _links(admin, predecessors))


def _links(admin: ReadOnlyAdmin, job_ids: Iterable[int]) -> SafeString:
    return format_html_join(", ", "{}", ((admin.link(Job, pk, f"#{pk}"),) for pk in job_ids))


def last_run(admin: ReadOnlyAdmin, schedule: Any, job: Any) -> SafeString | str:
    """Return how the job of its last slot stands, when that was, and how long it took."""
    if schedule.last_run_at is None:
        return format_html('<span class="jobs-quiet">{}</span>', _("never"))
    ago = _ago(schedule.last_run_at, schedule.read_now)
    if job is None:
        return format_html('{} <div class="jobs-quiet">{}</div>', ago, _("its job is kept no longer"))
    link = format_html("{} {}", admin.link(Job, job.pk, f"#{job.pk}"), ago)
    lines = format_html_join("", "<div>{}</div>", ((line,) for line in (link, took(job)) if line))
    return format_html('{}<div class="jobs-quiet">{}</div>', shown.state(job), lines)


def strip(admin: ReadOnlyAdmin, jobs: Iterable[Any]) -> SafeString:
    """Return how these jobs stand at a glance, each a mark that leads to it."""
    return format_html_join("", "{}", ((_mark(admin, job),) for job in jobs))


def _mark(admin: ReadOnlyAdmin, job: Any) -> SafeString:
    state = stats.shown_state(job)
    glyph, tone = shown.STATES[state]
    label = f"#{job.pk} {state.label}"
    dot = format_html(
        '<span class="jobs-dot jobs-{}" aria-hidden="true">{}</span><span class="visually-hidden">{}</span>',
        tone or "quiet",
        glyph,
        label,
    )
    return format_html('<span class="jobs-mark" title="{}">{}</span>', label, admin.link(Job, job.pk, dot))


def _ago(at: datetime, now: datetime) -> str:
    return _("%(time)s ago") % {"time": spoken_roughly(now - clock.aware(at))}


def took(job: Job) -> str:
    """Return how long a job took that has ended."""
    if job.started_at is None or job.finished_at is None:
        return ""
    return _("took %(time)s") % {"time": spoken(job.finished_at - job.started_at)}


def _quiet(at: datetime | None) -> SafeString:
    return format_html('<div class="jobs-quiet jobs-nowrap">{}</div>', shown.moment(at))
