"""Runs: what happened in each attempt."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from .. import stats
from ..durations import spoken
from ..models import Job, JobRun
from . import shown
from .base import FoundByJob, time_column
from .continuing import AfterFilter, ContinuedChangeList

MESSAGE_CHARS = 120


@admin.register(JobRun)
class JobRunAdmin(FoundByJob):
    large_columns = ("message", "traceback", "log")
    list_display = (
        "number",
        "job_link",
        "attempt",
        "outcome_shown",
        "worker",
        "finished",
        "waited",
        "took",
        "message_cut",
    )
    list_filter = (AfterFilter,)
    search_help_text = _("The id of a job.")
    fields = (
        ("job_link", "attempt", "claim_no", "outcome_shown"),
        ("worker", "due", "started", "finished", "waited", "took"),
        "exception_class",
        "message_shown",
        "traceback_shown",
        "log_shown",
    )

    class Media:
        js = ("jobs/copy.js",)

    due = time_column("due_at", _("due at"))
    started = time_column("started_at", _("started at"))
    finished = time_column("finished_at", _("finished at"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[JobRun]:
        runs: QuerySet[JobRun] = super().get_queryset(request)
        return runs.annotate(message_start=Left("message", MESSAGE_CHARS))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ContinuedChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> JobRun | None:
        run: Any = super().get_object(request, object_id, from_field)
        if run is not None:
            run.texts = stats.texts_of_run(run)
        return run  # type: ignore[no-any-return]

    @admin.display(description=_("run"))
    def number(self, run: JobRun) -> str:
        return str(run.pk)

    @admin.display(description=_("job"))
    def job_link(self, run: JobRun) -> str:
        return self.link(Job, run.job_id, f"#{run.job_id}")

    @admin.display(description=_("outcome"))
    def outcome_shown(self, run: JobRun) -> SafeString:
        return shown.outcome(run)

    @admin.display(description=_("waited"))
    def waited(self, run: JobRun) -> SafeString:
        return shown.unwrapped(spoken(stats.waited(run)))

    @admin.display(description=_("took"))
    def took(self, run: JobRun) -> SafeString:
        return shown.unwrapped(spoken(stats.duration(run)))

    @admin.display(description=_("message"))
    def message_cut(self, run: Any) -> str:
        text = ": ".join(part for part in (run.exception_class, stats.translated_note(run.message_start)) if part)
        return Truncator(text).chars(MESSAGE_CHARS)

    @admin.display(description=_("message"))
    def message_shown(self, run: Any) -> str:
        return shown.block(run.texts["message"]) or "-"

    @admin.display(description=_("traceback"))
    def traceback_shown(self, run: Any) -> str:
        return shown.traceback(run.texts["traceback"]) or "-"

    @admin.display(description=_("log"))
    def log_shown(self, run: Any) -> str:
        return shown.block(run.texts["log"]) or "-"
