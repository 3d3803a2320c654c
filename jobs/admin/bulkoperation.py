"""Bulk operations: how far they are, and Stop."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .. import stats
from ..models import BulkOperation, Job
from ..numerals import grouped
from ..operations import Actor, bulk
from ..reports import Sentence
from . import shown
from .actions import Action, Offer, Text
from .base import time_column
from .steering import SteeredAdmin

STATUSES = {
    BulkOperation.Status.WAITING: ("▷", ""),
    BulkOperation.Status.RUNNING: ("●", "busy"),
    BulkOperation.Status.STOPPED: ("■", "warn"),
    BulkOperation.Status.FINISHED: ("✓", "good"),
    BulkOperation.Status.FAILED: ("✕", "bad"),
}


def _stop(rows: QuerySet[BulkOperation], *, actor: Actor, **_values: Any) -> Iterator[Sentence]:
    for row in rows:
        is_asked = bulk.stop(row, actor=actor)
        text = gettext("It stops before its next 1,000 jobs.") if is_asked else gettext("It has ended.")
        yield Sentence(text, is_good=is_asked)


def _why_not_stop(row: BulkOperation) -> Text:
    if not row.is_open:
        return _("It has ended.")
    return _("It has been asked to.") if row.stop_requested_at else ""


STOP = Action(
    name="stop",
    permission="view_bulkoperation",
    label=_("Stop"),
    command=_("Stop %(rows)s"),
    run=_stop,
    why_not=_why_not_stop,
    asks=False,
)


@admin.register(BulkOperation)
class BulkOperationAdmin(SteeredAdmin):
    """Whoever may do what an operation does may stop it, too."""

    steering = (STOP,)
    list_display = ("name", "status_shown", "far", "filter_shown", "actor_label", "reason", "created")
    frozen = time_column("frozen_at", _("as of"))
    created = time_column("created_at", _("created at"))
    started = time_column("started_at", _("started at"))
    finished = time_column("finished_at", _("finished at"))

    class Media:
        js = ("jobs/live.js",)

    def get_urls(self) -> list[URLPattern]:
        live = path(
            "<path:object_id>/live/", self.admin_site.admin_view(self.live_view), name="jobs_bulkoperation_live"
        )
        return [live, *super().get_urls()]

    def get_fields(self, request: HttpRequest, obj: BulkOperation | None = None) -> list[Any]:
        parameters = ["parameters_shown"] if obj and obj.parameters else []
        times = ("frozen", "created", "started", "finished")
        return [("actor_label", "reason", "job_link"), "filter_shown", *parameters, times]

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> Any:
        """Offer nothing in the list: each operation has the permission of what it does."""
        return {}

    def offers(self, request: HttpRequest, row: BulkOperation) -> list[Offer]:
        return super().offers(request, row) if self._may_stop(request, row) else []

    def do_view(self, request: HttpRequest, object_id: str, action: str) -> HttpResponse:
        if not self._may_stop(request, self.row(request, object_id)):
            raise PermissionDenied
        return super().do_view(request, object_id, action)

    def live_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Return the part of the page that changes."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {"page": self._page(self.row(request, object_id))}
        return TemplateResponse(request, "admin/jobs/bulkoperation/_live.html", context)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["page"] = self._page(context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def _may_stop(self, request: HttpRequest, row: BulkOperation) -> bool:
        # A newer version of this app may have written the row.
        action = bulk.BULK_ACTIONS.get(row.action)
        return action is not None and request.user.has_perm(bulk.VIEW) and request.user.has_perm(action.permission)

    def _page(self, row: BulkOperation) -> dict[str, Any]:
        """Return what the changing part of the page shows."""
        percent = 100 if row.status == BulkOperation.Status.FINISHED else None
        if percent is None and row.matched:
            percent = min(100, row.looked_at * 100 // row.matched)
        return {
            "status": self.status_shown(row),
            "why": gettext(row.error) if row.error else self._why(row),
            "percent": percent,
            "far": self.far(row),
            "facts": list(_facts(row)),
            "live_url": self.url(BulkOperation, "live", row.pk) if row.is_open else "",
        }

    def _why(self, row: BulkOperation) -> str:
        if row.stopped_by and row.status == BulkOperation.Status.STOPPED:
            return gettext("%s stopped it.") % row.stopped_by
        if row.is_open and row.stop_requested_at:
            return gettext("It stops before its next 1,000 jobs.")
        if row.status != BulkOperation.Status.WAITING:
            return ""
        job = Job.objects.using(str(row._state.db)).filter(pk=row.job_id or 0).first()
        return stats.explain(job) if job else ""

    @admin.display(description=_("operation"))
    def name(self, row: BulkOperation) -> str:
        return str(row)

    @admin.display(description=_("status"))
    def status_shown(self, row: BulkOperation) -> SafeString:
        status = BulkOperation.Status(row.status)
        return shown.sign(*STATUSES[status], status.label)

    @admin.display(description=_("jobs"))
    def far(self, row: BulkOperation) -> str:
        if row.matched is None:
            return grouped(row.looked_at)
        return gettext("%(done)s of %(all)s") % {"done": grouped(row.looked_at), "all": grouped(row.matched)}

    @admin.display(description=_("which jobs"))
    def filter_shown(self, row: BulkOperation) -> str:
        parts = [f"{label}: {value}" for label, value in stats.spoken(stats.Selection.of(row))]
        return ", ".join(parts)

    @admin.display(description=_("parameters"))
    def parameters_shown(self, row: BulkOperation) -> str:
        return ", ".join(
            f"{stats.label_of(name)}: {shown.moment(datetime.fromisoformat(value)) if name == 'run_at' else value}"
            for name, value in row.parameters.items()
            if value is not None
        )

    @admin.display(description=_("job"))
    def job_link(self, row: BulkOperation) -> str:
        return self.link(Job, row.job_id, f"#{row.job_id}") if row.job_id is not None else gettext("done at once")


def _facts(row: BulkOperation) -> Iterator[tuple[Any, str]]:
    yield _("Done"), grouped(row.done)
    if row.asked:
        yield _("Asked to stop"), grouped(row.asked)
    yield _("Moved on, or locked"), grouped(row.skipped)
    if row.blocked:
        yield _("Unique key taken"), grouped(row.blocked)
    if row.forbidden:
        yield _("Kind not permitted"), grouped(row.forbidden)
    if row.left is not None:
        yield _("Left"), grouped(row.left)
