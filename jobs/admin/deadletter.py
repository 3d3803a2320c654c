"""Dead jobs by kind and error, and what to do about all of one sort."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import router
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from .. import stats
from ..exceptions import TooSlow
from ..models import DeadLetter, Job
from ..numerals import grouped
from ..stats import DeadGroup
from . import shown
from .base import ReadOnlyAdmin
from .job_actions import DISCARD, RETRY

MOST_SHOWN = 100


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    """One page; the jobs themselves are shown by ``JobAdmin``."""

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return [path("", self.admin_site.admin_view(self.changelist_view), name=name)]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        using = router.db_for_write(Job)
        try:
            with stats.patience(using=using):
                found = stats.dead_groups(using=using)
        except TooSlow:
            return self.page(request, "too_slow.html", status=503, title=_("This took too long"))
        return self.page(
            request,
            "deadletter/change_list.html",
            title=_("Dead jobs by error"),
            rows=[self._row(request, group) for group in found.groups[:MOST_SHOWN]],
            total=found.total,
            more=max(0, len(found.groups) - MOST_SHOWN),
        )

    def _row(self, request: HttpRequest, group: DeadGroup) -> dict[str, Any]:
        query = urlencode({"state": "dead", "kind": group.kind, "error": group.signature})
        jobs = self._jobs(request)
        return {
            "group": group,
            "count": grouped(group.count),
            "first": shown.moment(group.first_at),
            "last": shown.moment(group.last_at),
            "newest": self.link(Job, group.newest_id, f"#{group.newest_id}") if jobs else f"#{group.newest_id}",
            "url": f"{self.url(Job, 'changelist')}?{query}" if jobs else "",
            "actions": [
                (action.label, f"{self.url(Job, 'all', action.name)}?{query}")
                for action in (RETRY, DISCARD)
                if jobs and jobs.may(request, action.permission)
            ],
        }

    def _jobs(self, request: HttpRequest) -> Any:
        """Return the admin of jobs, where this site has one and the user may see it."""
        if not self.admin_site.is_registered(Job):
            return None
        jobs: Any = self.admin_site.get_model_admin(Job)
        return jobs if jobs.has_view_permission(request) else None
