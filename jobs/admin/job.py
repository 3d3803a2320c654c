"""Jobs: the list, the page of one with its timeline, and Retry and Cancel on both."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from .. import operations, reports, states, stats
from ..durations import spoken
from ..models import Job, JobRun
from ..states import LIVE
from . import shown
from .base import time_column
from .filters import QueueFilter, StateFilter, chosen_state
from .steering import SteeredAdmin

ERROR_CHARS = 80


@admin.register(Job)
class JobAdmin(SteeredAdmin):
    actions = ("retry", "cancel")
    buttons = {"retry": _("Retry"), "cancel": _("Cancel")}
    large_columns = ("args", "payload", "result", "metadata", "progress", "log")
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

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> list[tuple[Any, Any]]:
        """Leave out what this job has none of."""
        data = [f"{name}_shown" for name in self.large_columns if getattr(obj, name)]
        return [
            (
                None,
                {
                    "fields": (
                        ("state_shown", "attempt_of_most", "due", "worker"),
                        ("kind", "queue", "priority"),
                        "error",
                    )
                },
            ),
            *([(_("Data"), {"fields": data})] if data else []),
            (
                _("Times"),
                {"fields": (("enqueued", "started", "finished"), ("expires", "cancel_requested", "lease_expires"))},
            ),
            (_("Details"), {"fields": ("unique_key", "backoff_shown", ("timeout", "claim_no", "losses", "stranded"))}),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        jobs: Any = super().get_queryset(request)
        return stats.with_signs(jobs)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        state = chosen_state(request)
        return self.ordering if state is None else state.order

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[QuerySet[Job], bool]:
        term = search_term.strip()
        return (stats.found(queryset, term) if term else queryset), False

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        moments = stats.timeline(context["original"])
        context["timeline"] = [(moment, shown.moment(moment.at), spoken(moment.took)) for moment in moments]
        if self.admin_site.is_registered(JobRun):
            context["runs_url"] = f"{self.url(JobRun, 'changelist')}?q={context['original'].pk}"
        return super().render_change_form(request, context, *args, **kwargs)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "retry")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "cancel")

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

    @admin.display(description=_("args"))
    def args_shown(self, job: Job) -> str:
        return shown.pretty(job.args)

    @admin.display(description=_("payload"))
    def payload_shown(self, job: Job) -> str:
        return shown.pretty(job.payload)

    @admin.display(description=_("result"))
    def result_shown(self, job: Job) -> str:
        return shown.pretty(job.result)

    @admin.display(description=_("progress"))
    def progress_shown(self, job: Job) -> str:
        return shown.pretty(job.progress)

    @admin.display(description=_("metadata"))
    def metadata_shown(self, job: Job) -> str:
        return shown.pretty(job.metadata)

    @admin.display(description=_("log"))
    def log_shown(self, job: Job) -> str:
        return shown.block(job.log)

    @admin.display(description=_("backoff"))
    def backoff_shown(self, job: Job) -> str:
        values = {"base": f"{job.backoff_base:g}", "cap": f"{job.backoff_cap:g}", "jitter": f"{job.backoff_jitter:.0%}"}
        return _("%(base)s^attempt seconds, at most %(cap)s, plus up to %(jitter)s at random") % values
