"""Worker processes, and Drain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .. import operations
from ..models import Worker
from ..reports import Sentence
from . import shown
from .actions import Action, Text
from .base import time_column
from .steering import SteeredAdmin


def _drain(workers: QuerySet[Worker], **values: Any) -> Iterator[Sentence]:
    for name in list(workers.values_list("name", flat=True)):
        is_asked = operations.drain(name, using=workers.db, **values)
        done = gettext("Worker %s was asked to finish what it runs and end.")
        text = done if is_asked else gettext("Worker %s was left alone: it has stopped, or was asked before.")
        yield Sentence(text % name, is_good=is_asked)


def _why_not_drain(worker: Worker) -> Text:
    if worker.stopped_at is not None:
        return _("It has stopped.")
    return _("It has been asked to.") if worker.drain_requested_at else ""


DRAIN = Action(
    name="drain",
    permission="drain_worker",
    label=_("Drain"),
    command=_("Drain %(rows)s"),
    hint=_(
        "What is drained claims no more jobs, finishes what it runs, and ends. Its supervisor starts none in its place."
    ),
    run=_drain,
    why_not=_why_not_drain,
    is_danger=True,
)


@admin.register(Worker)
class WorkerAdmin(SteeredAdmin):
    steering = (DRAIN,)
    list_display = ("name", "status", "running_of_most", "queues_shown", "version", "heartbeat", "started", "refused")
    fields = (
        ("name", "status", "running_of_most", "queues_shown"),
        ("started", "heartbeat", "drain_requested", "draining", "stopped"),
        ("hostname", "pid", "version", "skew", "refused"),
        "kinds_shown",
    )

    started = time_column("started_at", _("started at"))
    heartbeat = time_column("heartbeat_at", _("last heartbeat"))
    drain_requested = time_column("drain_requested_at", _("drain requested at"))
    draining = time_column("draining_at", _("draining since"))
    stopped = time_column("stopped_at", _("stopped at"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        workers: Any = super().get_queryset(request)
        return workers.with_condition()  # type: ignore[no-any-return]

    @admin.display(description=_("status"))
    def status(self, worker: Worker) -> SafeString:
        return shown.condition(worker)

    @admin.display(description=_("running"))
    def running_of_most(self, worker: Worker) -> str:
        return _("%(running)d of %(most)d") % {"running": worker.running, "most": worker.concurrency}

    @admin.display(description=_("queues"))
    def queues_shown(self, worker: Worker) -> str:
        return ", ".join(worker.queues) or str(_("all"))

    @admin.display(description=_("clock skew"))
    def skew(self, worker: Worker) -> str:
        return f"{worker.clock_skew:+.3f} s"

    @admin.display(description=_("kinds"))
    def kinds_shown(self, worker: Worker) -> str:
        return ", ".join(worker.kinds)
