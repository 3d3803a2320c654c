"""How schedules stand, what has become of their slots, and who did what to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery, TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from .. import clock, cron, slot_jobs
from ..models import CronJob, Job, JobEvent, JobRun
from ..slots import NEVER, ON_TIME, Reason
from ..states import LIVE
from .excerpts import LARGE_COLUMNS
from .history import Moment
from .signs import with_signs
from .wording import localized

NEWEST = 20


class Standing(TextChoices):
    """How a schedule stands. Late is one whose run a worker should have made by now."""

    ON_TIME = "on_time", gettext_lazy("On time")
    LATE = "late", gettext_lazy("Late")
    FAILED = "failed", gettext_lazy("With an error")
    ENDED = "ended", gettext_lazy("Ended")
    UNPLANNED = "unplanned", gettext_lazy("Being planned")
    DISABLED = "disabled", gettext_lazy("Disabled")


def with_times(schedules: QuerySet[CronJob]) -> QuerySet[Any]:
    """Add the database's present time and, to the microsecond, the times that are compared with it."""
    return schedules.annotate(
        read_now=clock.Instant(clock.now()),
        planned=clock.Instant("next_run_at"),
        waits=clock.Instant("waiting_for"),
        disabled_since=clock.Instant("disabled_at"),
    )


def standing(schedule: Any) -> Standing:
    """Return how a schedule stands that came through ``with_times``."""
    if not schedule.enabled:
        return Standing.DISABLED
    if schedule.error:
        return Standing.FAILED
    if schedule.planned is None:
        return Standing.UNPLANNED
    if schedule.planned >= NEVER:
        return Standing.ENDED
    return Standing.LATE if schedule.read_now - schedule.planned > ON_TIME else Standing.ON_TIME


def in_standing(schedules: QuerySet[Any], wanted: Standing) -> QuerySet[Any]:
    """Filter by what ``standing`` returns."""
    return schedules.filter(enabled=False) if wanted is Standing.DISABLED else schedules.filter(_ENABLED[wanted]())


_ENABLED = {
    Standing.FAILED: lambda: Q(enabled=True) & ~Q(error=""),
    Standing.UNPLANNED: lambda: Q(enabled=True, error="", next_run_at__isnull=True),
    Standing.ENDED: lambda: Q(enabled=True, error="", next_run_at__gte=clock.at(NEVER)),
    Standing.LATE: lambda: Q(enabled=True, error="", next_run_at__lt=clock.in_seconds(-ON_TIME.total_seconds())),
    Standing.ON_TIME: lambda: Q(
        enabled=True,
        error="",
        next_run_at__gte=clock.in_seconds(-ON_TIME.total_seconds()),
        next_run_at__lt=clock.at(NEVER),
    ),
}


def rule_in_words(schedule: Any) -> str:
    """Say when a schedule runs, as far as its rule says it; its zone is another matter."""
    if is_single(schedule):
        return _("Once, at %(time)s") % {"time": f"{localized(schedule.starts_at):%Y-%m-%d %H:%M:%S}"}
    if schedule.every is not None:
        return cron.interval_in_words(schedule.every)
    return cron.in_words(schedule.expression)


def is_single(schedule: Any) -> bool:
    """Say whether its rule names a single moment."""
    return schedule.every is not None and schedule.starts_at is not None and schedule.starts_at == schedule.ends_at


def last_jobs(schedules: Iterable[CronJob], *, using: str) -> dict[int, Any]:
    """Return the job of the last slot that ran, by schedule, as far as it is kept (one query)."""
    wanted = {schedule.last_job_id: schedule.pk for schedule in schedules if schedule.last_job_id is not None}
    if not wanted:
        return {}
    jobs = with_signs(Job.objects.using(using).filter(pk__in=wanted).defer(*LARGE_COLUMNS))
    return {wanted[job.pk]: job for job in jobs}


def predecessors(schedules: Iterable[Any], *, using: str) -> dict[int, list[int]]:
    """Return the jobs that waiting slots wait for, by schedule (one query, none where nothing waits)."""
    return slot_jobs.unfinished([each.pk for each in schedules if each.waits is not None], using=using)


def unfinished(cron_ids: Collection[int], *, using: str) -> list[int]:
    """Return the jobs of these schedules that have not ended, whatever made them."""
    live = Job.objects.using(using).filter(cron_id__in=cron_ids, state__in=LIVE)
    return list(live.order_by("pk").values_list("pk", flat=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRun:
    """What became of one slot, or of a run by hand, which has none. ``late`` is how long after its slot it began."""

    job: Any
    late: timedelta | None
    took: timedelta | None


def runs(schedule: Any) -> list[SlotRun]:
    """Return the newest runs of a schedule that came through ``with_times``, newest first (one query)."""
    using = schedule._state.db
    first_run = JobRun.objects.filter(job_id=OuterRef("pk")).order_by("claim_no")
    jobs = with_signs(Job.objects.using(using).filter(cron_id=schedule.pk).defer(*LARGE_COLUMNS))
    began = Subquery(first_run.values("started_at")[:1])
    return [_run(job, schedule.read_now) for job in jobs.annotate(first_began=began).order_by("-pk")[:NEWEST]]


def _run(job: Any, now: datetime) -> SlotRun:
    began, slot = job.first_began or job.started_at, job.scheduled_for
    is_measured = began is not None and slot is not None and job.origin == Job.Origin.SLOT
    return SlotRun(
        job=job,
        late=max(clock.aware(began) - clock.aware(slot), timedelta()) if is_measured else None,
        took=None if job.started_at is None else max(_ended(job, now) - clock.aware(job.started_at), timedelta()),
    )


def _ended(job: Job, now: datetime) -> datetime:
    return now if job.finished_at is None else clock.aware(job.finished_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedSlots:
    """Slots that did not run: which, in words, why, and when that was decided."""

    at: datetime
    slots: str
    why: str


def skips(schedule: CronJob) -> list[SkippedSlots]:
    """Return the newest slots that did not run, newest first (one query)."""
    events = _events(schedule).filter(kind=JobEvent.Kind.SKIPPED).order_by("-pk")[:NEWEST]
    return [SkippedSlots(at=event.at, slots=_slots(event.slots), why=_why(event)) for event in events]


def _why(event: JobEvent) -> str:
    """Return the reason in the reader's language; what was stored is in that of the worker."""
    reason = event.slots.get("reason")
    return str(Reason(reason).label) if reason in Reason.values else event.reason


def _slots(slots: dict[str, Any]) -> str:
    first, last, count = (slots.get(name) for name in ("first", "last", "count"))
    if not first or not last:
        return ""
    if first == last:
        return _moment(first)
    text = ngettext("%(count)d slot, %(first)s to %(last)s", "%(count)d slots, %(first)s to %(last)s", count or 0)
    return text % {"count": count or 0, "first": _moment(first), "last": _moment(last)}


def _moment(text: str) -> str:
    return f"{localized(datetime.fromisoformat(text)):%Y-%m-%d %H:%M:%S}"


def decisions(schedule: CronJob) -> list[Moment]:
    """Return what people, and syncs, did to a schedule, newest first (one query)."""
    events = _events(schedule).exclude(kind=JobEvent.Kind.SKIPPED).order_by("-pk")[:NEWEST]
    return [
        Moment(
            at=event.at,
            title=event.get_kind_display(),
            who=event.actor_label or _("the system"),
            text="\n".join(_said(event)),
        )
        for event in events
    ]


def _said(event: JobEvent) -> Iterator[str]:
    if event.job_id is not None:
        yield _("Job #%d") % event.job_id
    if event.slots:
        yield _slots(event.slots)
    if event.reason:
        yield event.reason


def _events(schedule: CronJob) -> QuerySet[JobEvent]:
    return JobEvent.objects.using(schedule._state.db).filter(cron_id=schedule.pk)
