"""Events: who decided what, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from .. import stats
from ..models import CronJob, Job, JobEvent, Queue, Worker
from .base import FoundByJob, time_column
from .continuing import AfterFilter, ContinuedChangeList
from .event_filters import KindFilter, QueueFilter, ScheduleFilter, WorkerFilter


@admin.register(JobEvent)
class JobEventAdmin(FoundByJob):
    fields = ("time", "kind", "about", "actor_label", "actor_id", "more")
    list_display = ("time", "sentence", "more")
    list_filter = (AfterFilter, KindFilter, QueueFilter, WorkerFilter, ScheduleFilter)
    search_help_text = _("The id of a job.")

    time = time_column("at", _("at"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[JobEvent]:
        events: QuerySet[JobEvent] = super().get_queryset(request)
        return events.select_related("cron")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ContinuedChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> JobEvent | None:
        event = super().get_object(request, object_id, from_field)
        if event is not None:
            self.add_facts([event])
        return event

    def add_facts(self, rows: Sequence[Any]) -> None:
        """Find the rows that the events name, which have names and no ids of them."""
        using = rows[0]._state.db
        queues = stats.ids_of(Queue, {event.queue for event in rows}, using=using)
        workers = stats.ids_of(Worker, {event.worker for event in rows}, using=using)
        for event in rows:
            event.pages = {
                "job": (Job, event.job_id),
                "queue": (Queue, queues.get(event.queue)),
                "worker": (Worker, workers.get(event.worker)),
                "cron": (CronJob, event.cron and event.cron.pk),
            }

    @admin.display(description=_("event"))
    def sentence(self, event: JobEvent) -> SafeString:
        return stats.sentence(event, self.about(event))

    @admin.display(description=_("about"))
    def about(self, event: Any) -> SafeString:
        named = ((*event.pages[name], text) for name, text in stats.subjects(event).items())
        return format_html_join(stats.joint(event), "{}", ((self._subject(*each),) for each in named))

    def _subject(self, model: Any, pk: int | None, text: str) -> str:
        return text if pk is None else self.link(model, pk, text)

    @admin.display(description=_("particulars"))
    def more(self, event: JobEvent) -> SafeString:
        return format_html('<span class="jobs-said">{}</span>', "\n".join(stats.particulars(event)))
