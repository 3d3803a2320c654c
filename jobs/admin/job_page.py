"""The page of one job: what its templates get, as plain values that a site's own templates can rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib.admin.utils import label_for_field
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _

from .. import stats
from ..durations import spoken
from ..models import CronJob, Job, JobRun
from ..stats import Document, Moment, Progress
from . import lately, shown

if TYPE_CHECKING:
    from .job import JobAdmin


def page(admin: JobAdmin, request: HttpRequest, job: Job) -> dict[str, Any]:
    """Return the parts of the page, each with its own small template under ``admin/jobs/job/``."""
    documents = stats.documents(job)
    is_masked = any(document.is_masked for document in documents)
    return {
        "state": shown.state(job),
        "attempt": _("Attempt %(attempt)d of %(most)d") % {"attempt": job.attempt, "most": job.max_attempts},
        "why": stats.explain(job),
        "facts": list(_facts(admin, job)),
        "progress": _progress(documents),
        "timeline": timeline(stats.timeline(job)),
        "runs_url": admin.list_url(JobRun, q=job.pk),
        "documents": shown_documents(documents),
        "lately": _lately(admin, job),
        "unmask_url": _unmask_url(admin, request, job) if is_masked else "",
    }


def _lately(admin: JobAdmin, job: Any) -> dict[str, Any] | None:
    title = _("Recent runs of %(kind)s") % {"kind": job.kind}
    recent = stats.lately(kind=job.kind, using=job._state.db)
    return lately.section(recent, title, admin.list_url(Job, kind=job.kind))


def _unmask_url(admin: JobAdmin, request: HttpRequest, job: Job) -> str:
    if not admin.may(request, "view_job_payload"):
        return ""
    return admin.kept(request, admin.url(Job, "payload", job.pk))


def _facts(admin: JobAdmin, job: Job) -> Iterator[tuple[str, Any]]:
    yield _("Kind"), admin.jobs_link("kind", job.kind)
    yield _("Queue"), admin.jobs_link("queue", job.queue)
    yield _("Priority"), job.priority
    yield _("Enqueued"), shown.moment(job.enqueued_at)
    if job.lease_owner:
        yield _("Worker"), job.lease_owner
    if job.cron_id is not None:
        yield _("Schedule"), _schedule(admin, job, job.cron_id)
    if job.unique_key is not None:
        yield _("Unique key"), job.unique_key
    if job.copied_from_id is not None:
        yield _("Copied from"), admin.link(Job, job.copied_from_id, f"#{job.copied_from_id}")


def _schedule(admin: JobAdmin, job: Job, cron_id: int) -> str:
    """Return the schedule that the job comes from, as long as there is one, and the slot."""
    name = CronJob.objects.using(job._state.db).filter(pk=cron_id).values_list("name", flat=True).first()
    link = _("deleted") if name is None else admin.link(CronJob, cron_id, name)
    return format_html("{} {}", link, shown.moment(job.scheduled_for) or job.get_origin_display())


def _progress(documents: list[Document]) -> Progress | None:
    found = [Progress.of(document.value) for document in documents if document.name == "progress"]
    return found[0] if found else None


def timeline(moments: list[Moment]) -> list[dict[str, Any]]:
    """Return the moments as the page shows them: the newest traceback is open, and the log of a run under way."""
    troubles = [moment for moment in moments if moment.traceback]
    return [
        {
            "moment": moment,
            "at": shown.moment(moment.at),
            "glyph": shown.TONES[moment.tone],
            "details": list(_details(moment)),
            "traceback": shown.traceback(moment.traceback),
            "log": shown.block(moment.log),
            "traceback_is_open": moment in troubles[-1:],
            "log_is_open": not moment.tone,
        }
        for moment in moments
    ]


def _details(moment: Moment) -> Iterator[str]:
    if moment.waited is not None:
        yield _("waited %(time)s") % {"time": spoken(moment.waited)}
    if moment.took is not None:
        yield _("took %(time)s") % {"time": spoken(moment.took)}
    if moment.who:
        yield moment.who


def shown_documents(documents: list[Document]) -> list[dict[str, Any]]:
    return [
        {"label": _LABELS[document.name], "text": shown.pretty(document)}
        for document in documents
        if document.name != "progress" or Progress.of(document.value) is None
    ]


_LABELS: dict[str, Any] = {name: label_for_field(name, Job) for name in stats.NAMES}
