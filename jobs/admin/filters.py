"""The filters of the jobs list; none makes the database read the whole table."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import router
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from .. import stats
from ..exceptions import InvalidJob
from ..models import Queue
from ..registry import check_queue
from ..stats import ShownState

MOST_LISTED = 100


def chosen_state(request: HttpRequest) -> ShownState | None:
    """Return the state that the list is filtered by."""
    value = request.GET.get(StateFilter.parameter_name)
    return ShownState(value) if value in ShownState.values else None


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(ShownState.choices)

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() is None:
            return queryset
        shown = chosen_state(request)
        if shown is None:
            raise IncorrectLookupParameters(f"state={self.value()!r} is none of {', '.join(ShownState.values)}.")
        return stats.in_shown_state(queryset, shown)


class QueueFilter(admin.SimpleListFilter):
    title = _("queue")
    parameter_name = "queue"

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        super().__init__(request, *args)
        self.is_windowed = chosen_state(request) not in {ShownState.PENDING, ShownState.RUNNING}
        if self.is_windowed:
            self.title = _("queue (newest 100,000 jobs)")

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = Queue.objects.using(router.db_for_write(Queue)).order_by("name").values_list("name", flat=True)
        return [(name, name) for name in names[:MOST_LISTED]]

    def has_output(self) -> bool:
        """Filter by a queue that nobody has met yet, too."""
        return self.value() is not None or super().has_output()

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        queue = self.value()
        if queue is None:
            return queryset
        try:
            check_queue(queue)
        except InvalidJob as error:
            raise IncorrectLookupParameters(str(error)) from error
        jobs = queryset.filter(queue=queue)
        return stats.newest(jobs) if self.is_windowed else jobs
