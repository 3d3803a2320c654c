"""The page of one worker: what its templates get, as plain values that a site's own templates can rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from .. import stats
from ..durations import spoken
from ..models import Job, JobRun
from . import shown

if TYPE_CHECKING:
    from .worker import WorkerAdmin


def page(admin: WorkerAdmin, worker: Any) -> dict[str, Any]:
    """Return the parts of the page, each with its own small template under ``admin/jobs/worker/``."""
    using = worker._state.db
    held = stats.held_jobs(worker.name, using=using)
    return {
        "condition": shown.condition(worker),
        "figures": list(_figures(admin, worker)),
        "jobs": [_running(admin, job) for job in held if job.started_at is not None],
        "claimed_ahead": sum(job.started_at is None for job in held),
        "runs": [_run(admin, run) for run in stats.recent_runs(worker.name, using=using)],
    }


def _figures(admin: WorkerAdmin, worker: Any) -> Iterator[tuple[str, Any]]:
    yield _("Last heartbeat"), shown.age(worker.silent_for)
    yield _("Up"), spoken(worker.up_for)
    yield _("Running"), shown.bar(worker)
    yield _("Queues"), admin.queues_shown(worker)
    yield _("Version"), shown.version(worker)
    if skew := admin.skew(worker):
        yield _("Clock"), skew


def _running(admin: WorkerAdmin, job: Job) -> dict[str, Any]:
    return {
        "job": admin.link(Job, job.pk, str(job)),
        "state": shown.state(job),
        "since": shown.moment(job.started_at),
        "queue": job.queue,
    }


def _run(admin: WorkerAdmin, run: JobRun) -> dict[str, Any]:
    return {
        "job": admin.link(Job, run.job_id, f"#{run.job_id}"),
        "run": admin.link(JobRun, run.pk, _("Attempt %d") % run.attempt),
        "outcome": shown.outcome(run),
        "at": shown.moment(run.finished_at),
        "took": spoken(stats.duration(run)),
        "error": run.exception_class,
    }
