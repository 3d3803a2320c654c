"""Worker processes, and Drain."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .. import operations
from ..models import Worker
from ..reports import Sentence
from . import shown
from .base import time_column
from .steering import SteeredAdmin


@admin.register(Worker)
class WorkerAdmin(SteeredAdmin):
    actions = ("drain",)
    buttons = {"drain": _("Drain")}
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

    def has_drain_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "drain_worker")

    def why_not(self, action: str, row: Worker) -> str | Promise:
        if row.stopped_at is not None:
            return _("It has stopped.")
        return _("It has been asked to.") if row.drain_requested_at else ""

    @admin.action(permissions=["drain"], description=_("Drain selected %(verbose_name_plural)s"))
    def drain(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        for name in list(self.chosen(queryset).values_list("name", flat=True)):
            is_asked = operations.drain(name, using=queryset.db, **self.decision(request))
            done = gettext("Worker %s was asked to finish what it runs and end.")
            text = done if is_asked else gettext("Worker %s was left alone: it has stopped, or was asked before.")
            self.tell(request, Sentence(text % name, is_good=is_asked))

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
