"""The list of schedules: its filters, and what each page of it reads besides the rows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ..models import CronJob
from ..stats import Standing, in_standing, schedules
from .base import FixedOrderChangeList

# What a row of the list does not show, and may be large.
UNSEEN = ("args", "payload", "metadata", "declared")


class ChoiceFilter(admin.SimpleListFilter):
    """A filter with a closed list of choices; any other value leads back to the whole list."""

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        if value is None:
            return queryset
        if value not in dict(self.lookup_choices):
            raise IncorrectLookupParameters(f"{self.parameter_name}={value!r} is no choice.")
        return self.chosen(queryset, value)

    def chosen(self, queryset: Any, value: str) -> Any:
        raise NotImplementedError  # pragma: no cover (each filter has its own)


class StandingFilter(ChoiceFilter):
    title = _("status")
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        others = [each for each in Standing if each not in (Standing.ON_TIME, Standing.UNPLANNED)]
        return [("enabled", _("Enabled")), *((str(each), each.label) for each in others)]

    def chosen(self, queryset: Any, value: str) -> Any:
        return queryset.filter(enabled=True) if value == "enabled" else in_standing(queryset, Standing(value))


class OriginFilter(ChoiceFilter):
    title = _("origin")
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(CronJob.Origin.choices)

    def chosen(self, queryset: Any, value: str) -> Any:
        return queryset.filter(origin=value)


class CronJobChangeList(FixedOrderChangeList):
    """Reads the last jobs of a page's schedules, and the jobs that waiting slots wait for, at once."""

    def get_queryset(self, *args: Any, **kwargs: Any) -> Any:
        return super().get_queryset(*args, **kwargs).defer(*UNSEEN)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        using = self.queryset.db
        last_jobs = schedules.last_jobs(rows, using=using)
        predecessors = schedules.predecessors(rows, using=using)
        for schedule in rows:
            schedule.last_job = last_jobs.get(schedule.pk)
            schedule.predecessors = predecessors.get(schedule.pk, [])
        self.result_list = rows
