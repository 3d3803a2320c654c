"""Jobs: the list, and the page of one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from .. import operations, stats
from ..durations import spoken
from ..models import Job
from ..operations import Actor
from ..states import State
from . import bulk, exporting, job_page, shown
from .actions import Action, Offer, Text, kind_why_not
from .base import CappedPaginator, time_column
from .enqueueing import enqueue_view, why_not_copy
from .filters import ContinueFilter, ErrorFilter, KindFilter, QueueFilter, StateFilter, ordered_by
from .job_actions import ACTIONS, CANCEL, STOP
from .job_list import COLUMNS, COMMON, JobChangeList, columns, paginator
from .steering import SteeredAdmin

ERROR_CHARS = 80


@admin.register(Job)
class JobAdmin(SteeredAdmin):
    steering = ACTIONS
    large_columns = stats.LARGE_COLUMNS
    list_display = (*COMMON, *COLUMNS[None])
    list_display_links = ("number", "kind_and_queue")
    list_filter = (StateFilter, ContinueFilter, ErrorFilter, QueueFilter, KindFilter)
    search_fields = ("id", "kind", "unique_key")
    search_help_text = _("The id of a job, or the whole unique key or kind of live or recent ones.")

    class Media:
        js = ("jobs/copy.js",)

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

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        return columns(request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return JobChangeList

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        state = ordered_by(request)
        return self.ordering if state is None else state.order

    def get_paginator(self, request: HttpRequest, queryset: Any, per_page: int, *_: Any, **__: Any) -> CappedPaginator:
        return paginator(request, queryset, per_page)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[QuerySet[Job], bool]:
        term = search_term.strip()
        return (stats.found(queryset, term) if term else queryset), False

    def get_urls(self) -> list[URLPattern]:
        payload = path(
            "<path:object_id>/payload/", self.admin_site.admin_view(self.payload_view), name="jobs_job_payload"
        )
        every = path("all/<str:action>/", self.admin_site.admin_view(self.all_view), name="jobs_job_all")
        export = path("export/<str:name>/", self.admin_site.admin_view(self.export_view), name="jobs_job_export")
        return [payload, every, export, *super().get_urls()]

    def do_many(self, request: HttpRequest, action: Action, rows: QuerySet[Any]) -> HttpResponse | None:
        """Send what is meant for all that match to a page of its own."""
        if request.POST.get("select_across") != "1":
            return super().do_many(request, action, rows)
        return HttpResponseRedirect(f"{self.url(Job, 'all', action.name)}?{request.GET.urlencode()}")

    def all_view(self, request: HttpRequest, action: str) -> HttpResponse:
        """Ask (GET) about, or do (POST), ``action`` to all jobs that match the filters in the address."""
        return bulk.respond(self, request, self.permitted(request, action))

    def export_view(self, request: HttpRequest, name: str) -> HttpResponse | StreamingHttpResponse:
        """Send all jobs that match the filters in the address as a file of the format ``name``."""
        if not self.may(request, "export_job"):
            raise PermissionDenied
        return exporting.respond(self, request, name)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["page"] = job_page.page(self, request, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    @method_decorator(require_POST)
    def payload_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what is masked elsewhere, once it is written down who saw it."""
        if not self.may(request, "view_job_payload"):
            raise PermissionDenied
        job: Any = self.row(request, object_id)
        operations.note_payload_viewed(job, actor=Actor.of(request.user))
        documents = job_page.shown_documents(stats.documents(job, unmasked=True))
        back = self.kept(request, self.url(Job, "change", job.pk))
        title = _("Data, unmasked")
        return self.page(
            request, "job/payload.html", title=title, original=job, back_url=back, page={"documents": documents}
        )

    def jobs_link(self, name: str, value: str) -> SafeString:
        """Return the name of a kind or a queue, linked to its jobs in the list."""
        return format_html('<a href="{}">{}</a>', self.list_url(Job, **{name: value}), value)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "enqueue_job")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Enqueue instead."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        return enqueue_view(self, request)

    def offers(self, request: HttpRequest, row: Job) -> list[Offer]:
        """Add that a job can be copied."""
        offers = super().offers(request, row)
        if self.has_add_permission(request):
            why_not = why_not_copy(row) or kind_why_not(request, row.kind)
            url = f"{self.url(Job, 'add')}?copy={row.pk}"
            offers.append(Offer(name="copy", label=_("Copy"), url=url, why_not=why_not, asks=True))
        return offers

    def fitted(self, action: Action, row: Job) -> Action:
        return STOP if action is CANCEL and row.state == State.RUNNING else action

    def why_not(self, request: HttpRequest, action: Action, row: Job) -> Text:
        """Add that the kind of the job may have a permission of its own."""
        return super().why_not(request, action, row) or (kind_why_not(request, row.kind) if action.starts else "")

    @admin.display(description=_("id"))
    def number(self, job: Job) -> str:
        # As text: a site that groups digits would show 1,234.
        return str(job.pk)

    @admin.display(description=_("kind"))
    def kind_and_queue(self, job: Job) -> SafeString:
        return format_html('{} <span class="jobs-below jobs-quiet">{}</span>', job.kind, job.queue)

    @admin.display(description=_("state"))
    def state_shown(self, job: Job) -> SafeString:
        return shown.state(job)

    @admin.display(description=_("attempt"))
    def attempt_of_most(self, job: Job) -> str:
        return _("%(attempt)d of %(most)d") % {"attempt": job.attempt, "most": job.max_attempts}

    @admin.display(description=_("worker"))
    def worker(self, job: Job) -> str:
        return job.lease_owner

    @admin.display(description=_("took"))
    def took(self, job: Job) -> SafeString:
        return shown.unwrapped(spoken(job.finished_at - job.started_at if job.finished_at and job.started_at else None))

    @admin.display(description=_("error"))
    def error_cut(self, job: Job) -> str:
        return Truncator(stats.translated_note(job.error)).chars(ERROR_CHARS)

    @admin.display(description=_("backoff"))
    def backoff_shown(self, job: Job) -> str:
        values = {"base": f"{job.backoff_base:g}", "cap": f"{job.backoff_cap:g}", "jitter": f"{job.backoff_jitter:.0%}"}
        return _("%(base)s^attempt seconds, at most %(cap)s, plus up to %(jitter)s at random") % values
