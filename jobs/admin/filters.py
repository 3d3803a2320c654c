"""The filters of the jobs list; none makes the database read the whole table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import router
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from .. import registry, stats
from ..exceptions import InvalidJob
from ..models import Queue
from ..options import check_kind, check_queue
from ..stats import ShownState

MOST_LISTED = 100


def chosen_state(request: HttpRequest) -> ShownState | None:
    """Return the state that the list is filtered by."""
    value = request.GET.get(StateFilter.parameter_name)
    return ShownState(value) if value in ShownState.values else None


class HiddenFilter(admin.SimpleListFilter):
    """A filter that is chosen elsewhere on the page than in the list of filters."""

    template = "admin/jobs/hidden_filter.html"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return []

    def has_output(self) -> bool:
        """Say yes, or it would not be applied."""
        return True


class StateFilter(HiddenFilter):
    """The tabs above the list."""

    title = _("state")
    parameter_name = "state"

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() is None:
            return queryset
        shown = chosen_state(request)
        if shown is None:
            raise IncorrectLookupParameters(f"state={self.value()!r} is none of {', '.join(ShownState.values)}.")
        return stats.in_shown_state(queryset, shown)


class ContinueFilter(HiddenFilter):
    """What follows the last page of a list that is longer than its pages."""

    title = _("after")
    parameter_name = "after"

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        place = self.value()
        if place is None:
            return queryset
        try:
            return stats.beyond(queryset, chosen_state(request), place)
        except InvalidJob as error:
            raise IncorrectLookupParameters(str(error)) from error


class NameFilter(admin.SimpleListFilter):
    """A filter by a name, among the newest jobs where no index serves it."""

    check: Callable[[object], None]

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        super().__init__(request, *args)
        self.is_windowed = stats.is_windowed(str(self.parameter_name), chosen_state(request), request.GET)
        if self.is_windowed:
            self.title = _("%(name)s (newest 100,000 jobs)") % {"name": self.title}

    def has_output(self) -> bool:
        """Filter by a name that nobody has met yet, too."""
        return self.value() is not None or super().has_output()

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        name = self.value()
        if name is None:
            return queryset
        try:
            type(self).check(name)
        except InvalidJob as error:
            raise IncorrectLookupParameters(str(error)) from error
        jobs = queryset.filter(**{str(self.parameter_name): name})
        return stats.newest(jobs) if self.is_windowed else jobs


class QueueFilter(NameFilter):
    title = _("queue")
    parameter_name = "queue"
    check = staticmethod(check_queue)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = Queue.objects.using(router.db_for_write(Queue)).order_by("name").values_list("name", flat=True)
        return [(name, name) for name in names[:MOST_LISTED]]


class KindFilter(NameFilter):
    title = _("kind")
    parameter_name = "kind"
    check = staticmethod(check_kind)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind, kind) for kind in registry.kinds()[:MOST_LISTED]]


class ErrorFilter(admin.SimpleListFilter):
    """The dead jobs of one group, as the page of dead jobs has them."""

    title = _("error (newest 10,000 dead jobs)")
    parameter_name = "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        value = request.GET.get("error")
        return [] if value is None else [(value, value or _("(none)"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        # Without a value it has nothing to choose from, and is not applied.
        signature = self.value() or ""
        if chosen_state(request) is not ShownState.DEAD:
            raise IncorrectLookupParameters("Only dead jobs are found by their error.")
        try:
            stats.check_signature(signature)
        except InvalidJob as error:
            raise IncorrectLookupParameters(str(error)) from error
        return stats.died_of(queryset, signature)
