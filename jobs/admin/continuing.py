"""Lists by id that are longer than is counted: how they go on after their last page."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from .. import stats
from .base import FixedOrderChangeList
from .filters import HiddenFilter


class AfterFilter(HiddenFilter):
    """What follows the last page of a list that is longer than its pages."""

    title = _("after")
    parameter_name = "after"

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        place = self.value()
        if place is None:
            return queryset
        last = stats.as_id(place)
        if last is None:
            raise IncorrectLookupParameters(f"after={place!r} is no id.")
        return queryset.filter(pk__lt=last)


AFTER = str(AfterFilter.parameter_name)


class ContinuedChangeList(FixedOrderChangeList):
    """Adds ``next_place``, the last row where there is more than is counted, and the addresses of the way on and back."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        paginator: Any = self.paginator
        is_last = self.page_num == paginator.num_pages
        self.next_place = ([*self.result_list] or [None])[-1] if paginator.counted.is_capped and is_last else None
        place = {} if self.next_place is None else {AFTER: self.place_of(self.next_place)}
        self.next_url = self.get_query_string(place, [PAGE_VAR]) if place else ""
        self.first_url = self.get_query_string({}, [AFTER, PAGE_VAR]) if AFTER in self.params else ""

    def place_of(self, row: Any) -> str:
        """Return, as text, the place of ``row`` in this list."""
        return str(row.pk)
