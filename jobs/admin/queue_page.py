"""The page of one queue: what its templates get, as plain values that a site's own templates can rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from .. import stats
from ..models import Job, JobEvent, Queue, Worker
from ..stats import QueueView, Waiting
from . import lately, shown

if TYPE_CHECKING:
    from .queue import QueueAdmin


def page(admin: QueueAdmin, queue: Queue) -> dict[str, Any]:
    """Return the parts of the page, each with its own small template under ``admin/jobs/queue/``."""
    view = stats.view_of_queue(queue)
    return {
        "status": shown.openness(queue),
        "banner": _banner(queue),
        "figures": list(_figures(admin, queue, view)),
        "is_windowed": view.dead.is_capped or view.backing_off.is_capped,
        "workers": [
            {"name": admin.link(Worker, worker.pk, worker.name), "running": shown.bar(worker)}
            for worker in view.load.serving
        ],
        "waiting": [_waiting(admin, job) for job in view.first],
        "left_behind": [_waiting(admin, job) for job in view.left_behind],
        "kinds": view.kinds,
        "errors": view.errors,
        "changes": [shown.event(event) for event in view.changes],
        "changes_url": admin.list_url(JobEvent, queue=queue.name),
        "lately": lately.section(view.lately, _("Recent runs"), admin.list_url(Job, queue=queue.name)),
    }


def _banner(queue: Queue) -> dict[str, Any] | None:
    if queue.paused_at is None:
        return None
    return {
        "who": queue.paused_by or _("the system"),
        "since": shown.moment(queue.paused_at),
        "reason": queue.pause_reason,
        "until": shown.moment(queue.resume_at),
    }


def _figures(admin: QueueAdmin, queue: Queue, view: QueueView) -> Iterator[tuple[str, Any]]:
    load = view.load
    yield _("Oldest due"), shown.age(load.oldest_due_for)
    is_held = queue.paused_at is not None and load.pending.number
    yield _("Held") if is_held else _("Pending"), admin.jobs_link(queue, "pending", load.pending)
    of_slots = _("%(running)s of %(slots)d slots") % {"running": load.running, "slots": load.slots}
    yield _("Running"), admin.jobs_link(queue, "running", of_slots)
    yield _("Backing off"), admin.jobs_link(queue, "backing_off", view.backing_off)
    yield _("Dead"), admin.jobs_link(queue, "dead", view.dead)


def _waiting(admin: QueueAdmin, job: Waiting) -> dict[str, Any]:
    return {
        "job": admin.link(Job, job.id, f"#{job.id} {job.kind}"),
        "priority": job.priority,
        "due": shown.age(job.due_for),
    }
