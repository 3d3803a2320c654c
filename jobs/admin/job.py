"""Jobs: the list, the page of one with its timeline, and Retry and Cancel on both."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from .. import operations, reports, states, stats
from ..models import Job
from ..states import LIVE
from . import job_page, shown
from .base import time_column
from .filters import QueueFilter, StateFilter, chosen_state
from .steering import SteeredAdmin

ERROR_CHARS = 80


@admin.register(Job)
class JobAdmin(SteeredAdmin):
    actions = ("retry", "cancel")
    buttons = {"retry": _("Retry"), "cancel": _("Cancel")}
    large_columns = stats.LARGE_COLUMNS
    list_display = ("number", "kind", "queue", "state_shown", "attempt_of_most", "due", "worker", "error_cut")
    list_display_links = ("number", "kind")
    list_filter = (StateFilter, QueueFilter)
    search_fields = ("id", "unique_key")
    search_help_text = _("The id of a job, or the whole unique key of a live or recent one.")

    due = time_column("run_at", _("run at"))
    enqueued = time_column("enqueued_at", _("enqueued at"))
    started = time_column("started_at", _("started at"))
    finished = time_column("finished_at", _("finished at"))
    expires = time_column("expires_at", _("expires at"))
    cancel_requested = time_column("cancel_requested_at", _("cancel requested at"))
    lease_expires = time_column("lease_expires_at", _("lease expires at"))

    fieldsets = (
        (
            _("Details"),
            {
                "classes": ("collapse",),
                "fields": (
                    ("kind", "queue", "priority", "unique_key"),
                    ("enqueued", "due", "started", "finished"),
                    ("expires", "cancel_requested", "lease_expires"),
                    ("timeout", "claim_no", "losses", "stranded"),
                    "backoff_shown",
                ),
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        jobs: Any = super().get_queryset(request)
        return stats.with_signs(jobs)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        state = chosen_state(request)
        return self.ordering if state is None else state.order

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[QuerySet[Job], bool]:
        term = search_term.strip()
        return (stats.found(queryset, term) if term else queryset), False

    def get_urls(self) -> list[URLPattern]:
        payload = path(
            "<path:object_id>/payload/", self.admin_site.admin_view(self.payload_view), name="jobs_job_payload"
        )
        return [payload, *super().get_urls()]

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["page"] = job_page.page(self, request, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    @method_decorator(require_POST)
    def payload_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what is masked elsewhere, once it is written down who saw it."""
        if not self.may(request, "view_job_payload"):
            raise PermissionDenied
        job: Any = self.row(request, object_id)
        operations.note_payload_viewed(job, **self.decision(request))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Data, unmasked"),
            "opts": self.opts,
            "original": job,
            "media": self.media,
            "back_url": self.url(Job, "change", job.pk),
            "page": {"documents": job_page.shown_documents(stats.documents(job, unmasked=True))},
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/jobs/job/payload.html", context)

    def queue_link(self, job: Job) -> SafeString:
        """Return the name of the queue, linked to its jobs in the list."""
        query = urlencode({"queue": job.queue})
        return format_html('<a href="{}?{}">{}</a>', self.url(Job, "changelist"), query, job.queue)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "retry_job")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "cancel_job")

    def why_not(self, action: str, row: Job) -> str | Promise:
        if action == "retry":
            return "" if row.state in states.RETRY.sources else _("Only dead and cancelled jobs can be retried.")
        if row.state not in LIVE:
            return _("It has ended.")
        return _("It has been asked to stop.") if row.cancel_requested_at else ""

    @admin.action(permissions=["retry"], description=_("Retry selected %(verbose_name_plural)s"))
    def retry(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        report = operations.retry(self.chosen(queryset), **self.decision(request))
        self.tell(request, *reports.of_retry(report))

    @admin.action(permissions=["cancel"], description=_("Cancel selected %(verbose_name_plural)s"))
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        report = operations.cancel(self.chosen(queryset), **self.decision(request))
        self.tell(request, *reports.of_cancel(report))

    @admin.display(description=_("id"))
    def number(self, job: Job) -> str:
        # As text: a site that groups digits would show 1,234.
        return str(job.pk)

    @admin.display(description=_("state"))
    def state_shown(self, job: Job) -> SafeString:
        return shown.state(job)

    @admin.display(description=_("attempt"))
    def attempt_of_most(self, job: Job) -> str:
        return _("%(attempt)d of %(most)d") % {"attempt": job.attempt, "most": job.max_attempts}

    @admin.display(description=_("worker"))
    def worker(self, job: Job) -> str:
        return job.lease_owner

    @admin.display(description=_("error"))
    def error_cut(self, job: Job) -> str:
        return Truncator(job.error).chars(ERROR_CHARS)

    @admin.display(description=_("backoff"))
    def backoff_shown(self, job: Job) -> str:
        values = {"base": f"{job.backoff_base:g}", "cap": f"{job.backoff_cap:g}", "jitter": f"{job.backoff_jitter:.0%}"}
        return _("%(base)s^attempt seconds, at most %(cap)s, plus up to %(jitter)s at random") % values
