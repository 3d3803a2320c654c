"""Queues, and Pause and Resume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from .. import operations
from ..models import Job, Queue
from ..reports import Sentence
from . import shown
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
    steering = (PAUSE, RESUME)
    fields = ("name", "status", "paused", "paused_by", "pause_reason", "resumes", "jobs_link")
    list_display = fields
    ordering = ("name",)
    search_fields = ("name",)
    search_help_text = _("The whole name of a queue.")

    paused = time_column("paused_at", _("paused at"))
    resumes = time_column("resume_at", _("resumes at"))

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[QuerySet[Queue], bool]:
        name = search_term.strip()
        return (queryset.filter(name=name) if name else queryset), False

    @admin.display(description=_("status"))
    def status(self, queue: Queue) -> SafeString:
        return shown.sign("▷", "good", _("Open")) if queue.paused_at is None else shown.sign("‖", "warn", _("Paused"))

    @admin.display(description=_("jobs"))
    def jobs_link(self, queue: Queue) -> str:
        if not self.admin_site.is_registered(Job):
            return ""
        query = urlencode({"queue": queue.name, "state": "pending"})
        return format_html('<a href="{}?{}">{}</a>', self.url(Job, "changelist"), query, _("Pending jobs"))
