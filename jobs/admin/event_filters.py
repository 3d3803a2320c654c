"""The filters of events: each offers a closed list, and looks at the newest where no index serves it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import router
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from .. import stats
from ..models import CronJob, JobEvent, Queue, Worker

MOST_LISTED = 100


class EventFilter(admin.SimpleListFilter):
    """A filter by the column that its parameter is called after."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.title = self.headline()

    def headline(self) -> Any:
        return _("%(name)s (newest 10,000 events)") % {"name": self.title}

    def has_output(self) -> bool:
        """Filter by what is no longer listed, too."""
        return self.value() is not None or super().has_output()

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        if value is None:
            return queryset
        if "\0" in value:
            raise IncorrectLookupParameters(f"{self.parameter_name}={value!r} can be none.")
        return self.narrowed(queryset, value)

    def narrowed(self, events: Any, value: str) -> Any:
        return stats.within_newest(events.filter(**{str(self.parameter_name): value}))


class KindFilter(EventFilter):
    title = _("what was done")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        return JobEvent.Kind.choices


class QueueFilter(EventFilter):
    title = _("queue")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        return _named(_rows(Queue).order_by("name"))


class WorkerFilter(EventFilter):
    title = _("worker")
    parameter_name = "worker"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        return _named(_rows(Worker).order_by("-pk"))


class ScheduleFilter(EventFilter):
    """By id, which an index has."""

    title = _("schedule")
    parameter_name = "schedule"

    def headline(self) -> Any:
        return self.title

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        return _rows(CronJob).order_by("name").values_list("pk", "name")[:MOST_LISTED]  # type: ignore[no-any-return]

    def narrowed(self, events: Any, value: str) -> Any:
        cron_id = stats.as_id(value)
        if cron_id is None:
            raise IncorrectLookupParameters(f"{self.parameter_name}={value!r} is no id.")
        return events.filter(cron_id=cron_id)


def _rows(model: Any) -> Any:
    return model.objects.using(router.db_for_write(model))


def _named(rows: Any) -> list[tuple[str, str]]:
    return [(name, name) for name in rows.values_list("name", flat=True)[:MOST_LISTED]]
