"""Queues, and Pause and Resume."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from .. import operations
from ..models import Job, Queue
from ..reports import Sentence
from . import shown
from .base import time_column
from .steering import SteeredAdmin


@admin.register(Queue)
class QueueAdmin(SteeredAdmin):
    actions = ("pause", "resume")
    buttons = {"pause": _("Pause"), "resume": _("Resume")}
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

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "pause_queue")

    def why_not(self, action: str, row: Queue) -> str | Promise:
        return _("It is not paused.") if action == "resume" and row.paused_at is None else ""

    @admin.action(permissions=["pause"], description=_("Pause selected %(verbose_name_plural)s"))
    def pause(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        names = list(self.chosen(queryset).values_list("name", flat=True))
        for name in names:
            operations.pause(name, using=queryset.db, **self.decision(request))
        text = ngettext(
            "%d queue is paused; what runs goes on.", "%d queues are paused; what runs goes on.", len(names)
        )
        self.tell(request, Sentence(text % len(names)))

    @admin.action(permissions=["pause"], description=_("Resume selected %(verbose_name_plural)s"))
    def resume(self, request: HttpRequest, queryset: QuerySet[Queue]) -> None:
        names = list(self.chosen(queryset).values_list("name", flat=True))
        resumed = [name for name in names if operations.resume(name, using=queryset.db, **self.decision(request))]
        for name in names:
            text = gettext("Queue %s is resumed.") if name in resumed else gettext("Queue %s was not paused.")
            self.tell(request, Sentence(text % name, is_good=name in resumed))

    @admin.display(description=_("status"))
    def status(self, queue: Queue) -> SafeString:
        return shown.sign("▷", "good", _("Open")) if queue.paused_at is None else shown.sign("‖", "warn", _("Paused"))

    @admin.display(description=_("jobs"))
    def jobs_link(self, queue: Queue) -> str:
        if not self.admin_site.is_registered(Job):
            return ""
        query = urlencode({"queue": queue.name, "state": "pending"})
        return format_html('<a href="{}?{}">{}</a>', self.url(Job, "changelist"), query, _("Pending jobs"))
