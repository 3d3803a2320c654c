"""Worker processes: how they stand, and Drain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .. import operations, stats
from ..durations import spoken
from ..models import Job, Worker
from ..reports import Sentence
from . import shown, worker_page
from .actions import Action, Text
from .base import time_column
from .steering import SteeredAdmin
from .worker_list import RollFilter, WorkerChangeList

MOST_LINKED = 3
SKEW_SHOWN_SECONDS = 1.0


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
    list_display = ("name", "status", "up", "version_shown", "queues_shown", "bar", "runs_now", "skew")
    list_filter = (RollFilter,)
    fieldsets = (
        (
            _("Details"),
            {
                "classes": ("collapse",),
                "fields": (
                    ("started", "heartbeat", "drain_requested", "draining", "stopped"),
                    ("hostname", "pid", "refused"),
                    "kinds_shown",
                ),
            },
        ),
    )

    started = time_column("started_at", _("started at"))
    heartbeat = time_column("heartbeat_at", _("last heartbeat"))
    drain_requested = time_column("drain_requested_at", _("drain requested at"))
    draining = time_column("draining_at", _("draining since"))
    stopped = time_column("stopped_at", _("stopped at"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        workers: Any = super().get_queryset(request)
        return stats.with_ages(workers.with_condition())

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return WorkerChangeList

    def add_facts(self, rows: Sequence[Any]) -> None:
        running = stats.running_jobs([worker.name for worker in rows], using=rows[0]._state.db)
        for worker in rows:
            worker.runs = running.get(worker.name, [])

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["page"] = worker_page.page(self, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def warned(self, action: Action, rows: QuerySet[Any]) -> Action:
        """Add what would have to be finished."""
        running = stats.running_jobs(rows.values_list("name", flat=True), using=rows.db)
        jobs = [str(job) for owned in running.values() for job in owned]
        return replace(action, warning=shown.enumeration(_("Running now:"), jobs)) if jobs else action

    @admin.display(description=_("last heartbeat"))
    def status(self, worker: Any) -> SafeString:
        return format_html("{} {}", shown.condition(worker), shown.age(worker.silent_for))

    @admin.display(description=_("up"))
    def up(self, worker: Any) -> SafeString:
        return shown.unwrapped(spoken(worker.up_for))

    @admin.display(description=_("version"))
    def version_shown(self, worker: Any) -> SafeString | str:
        return shown.version(worker)

    @admin.display(description=_("queues"))
    def queues_shown(self, worker: Worker) -> str:
        return ", ".join(worker.queues) or str(_("all"))

    @admin.display(description=_("running"))
    def bar(self, worker: Worker) -> SafeString:
        return shown.bar(worker)

    @admin.display(description=_("runs now"))
    def runs_now(self, worker: Any) -> SafeString | str:
        links = [self.link(Job, job.pk, str(job)) for job in worker.runs[:MOST_LINKED]]
        more = [_("and %d more") % (len(worker.runs) - MOST_LINKED)] if len(worker.runs) > MOST_LINKED else []
        return format_html_join(", ", "{}", ((text,) for text in [*links, *more]))

    @admin.display(description=_("clock"))
    def skew(self, worker: Worker) -> SafeString | str:
        off = abs(worker.clock_skew) > SKEW_SHOWN_SECONDS
        return shown.sign("!", "warn", _("%+.1f s off") % worker.clock_skew) if off else ""

    @admin.display(description=_("kinds"))
    def kinds_shown(self, worker: Worker) -> str:
        return ", ".join(worker.kinds)
