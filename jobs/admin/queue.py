"""Queues: how they stand, and Pause and Resume."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from .. import operations, stats
from ..models import Job, Queue
from ..reports import Sentence
from . import queue_page, shown
from .actions import Action
from .base import time_column
from .forms import PauseForm
from .steering import SteeredAdmin


def _pause(queues: QuerySet[Queue], **values: Any) -> Iterator[Sentence]:
    names = list(queues.values_list("name", flat=True))
    for name in names:
        operations.pause(name, using=queues.db, **values)
    text = ngettext("%d queue is paused; what runs goes on.", "%d queues are paused; what runs goes on.", len(names))
    yield Sentence(text % len(names))


def _resume(queues: QuerySet[Queue], **values: Any) -> Iterator[Sentence]:
    for name in list(queues.values_list("name", flat=True)):
        is_resumed = operations.resume(name, using=queues.db, **values)
        text = gettext("Queue %s is resumed.") if is_resumed else gettext("Queue %s was not paused.")
        yield Sentence(text % name, is_good=is_resumed)


PAUSE = Action(
    name="pause",
    permission="pause_queue",
    label=_("Pause"),
    command=_("Pause %(rows)s"),
    hint=_("Workers claim no more jobs of a paused queue, within a second or so; what runs goes on."),
    run=_pause,
    why_not=lambda queue: "",
    form=PauseForm,
)
RESUME = Action(
    name="resume",
    permission="pause_queue",
    label=_("Resume"),
    command=_("Resume %(rows)s"),
    run=_resume,
    why_not=lambda queue: _("It is not paused.") if queue.paused_at is None else "",
    asks=False,
)


@admin.register(Queue)
class QueueAdmin(SteeredAdmin):
    steering = (RESUME, PAUSE)
    fieldsets = (
        (
            _("Details"),
            {"classes": ("collapse",), "fields": ("name", "paused", "paused_by", "pause_reason", "resumes")},
        ),
    )
    list_display = ("name", "status", "pending", "oldest_due", "running", "workers")
    ordering = ("name",)
    search_fields = ("name",)
    search_help_text = _("The whole name of a queue.")

    paused = time_column("paused_at", _("paused at"))
    resumes = time_column("resume_at", _("resumes at"))

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[QuerySet[Queue], bool]:
        name = search_term.strip()
        return (queryset.filter(name=name) if name else queryset), False

    def add_facts(self, rows: Sequence[Any]) -> None:
        loads = stats.loads([queue.name for queue in rows], using=rows[0]._state.db)
        for queue in rows:
            queue.load = loads[queue.name]

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["page"] = queue_page.page(self, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def jobs_link(self, queue: Queue, state: str, text: Any) -> SafeString | str:
        """Return ``text``, linked to the jobs of the queue in that state where this site shows jobs."""
        url = self.list_url(Job, queue=queue.name, state=state)
        return format_html('<a href="{}">{}</a>', url, text) if url else str(text)

    @admin.display(description=_("status"))
    def status(self, queue: Queue) -> SafeString:
        return shown.queue(queue)

    @admin.display(description=_("pending"))
    def pending(self, queue: Any) -> SafeString | str:
        return self.jobs_link(queue, "pending", queue.load.pending)

    @admin.display(description=_("oldest due"))
    def oldest_due(self, queue: Any) -> SafeString | str:
        return shown.age(queue.load.oldest_due_for)

    @admin.display(description=_("running"))
    def running(self, queue: Any) -> SafeString | str:
        return self.jobs_link(queue, "running", queue.load.running)

    @admin.display(description=_("workers"))
    def workers(self, queue: Any) -> SafeString | str:
        return str(len(queue.load.serving)) if queue.load.serving else shown.sign("!", "warn", _("none"))
