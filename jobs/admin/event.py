"""Events: who decided what, and why."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from ..models import Job, JobEvent
from .base import FoundByJob, time_column


@admin.register(JobEvent)
class JobEventAdmin(FoundByJob):
    fields = ("time", "kind", "job_link", "queue", "worker", "actor_label", "actor_id", "reason")
    list_display = ("time", "kind", "job_link", "queue", "worker", "actor_shown", "reason")
    search_help_text = _("The id of a job.")

    time = time_column("at", _("at"))

    @admin.display(description=_("job"))
    def job_link(self, event: JobEvent) -> str:
        return "" if event.job_id is None else self.link(Job, event.job_id, f"#{event.job_id}")

    @admin.display(description=_("actor"))
    def actor_shown(self, event: JobEvent) -> str:
        return event.actor_label or str(_("the system"))
