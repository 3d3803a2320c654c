"""The list of workers: its tabs, of which the first leaves those out that are gone."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import PAGE_VAR
from django.http import HttpRequest

from .. import stats
from ..models import Worker
from ..stats import Roll
from . import shown
from .base import FixedOrderChangeList
from .filters import HiddenFilter


class RollFilter(HiddenFilter):
    """The tabs above the list."""

    title = Worker._meta.get_field("stopped_at").verbose_name
    parameter_name = "condition"

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value() or Roll.AT_WORK
        if value not in Roll.values:
            raise IncorrectLookupParameters(f"condition={value!r} is none of {', '.join(filter(None, Roll.values))}.")
        return stats.on_roll(queryset, Roll(value))


class WorkerChangeList(FixedOrderChangeList):
    """Adds ``tabs``."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        # The tabs are its only filter: there is nothing to choose beside the list.
        self.has_filters = False
        name = str(RollFilter.parameter_name)
        current = self.params.get(name, "")
        self.tabs = [
            {
                "label": roll.label,
                "glyph": shown.CONDITIONS[Worker.Condition(roll.value)][0] if roll.value else "",
                "count": count,
                "url": self.get_query_string({name: roll.value} if roll.value else {}, [name, PAGE_VAR]),
                "is_current": roll.value == current,
            }
            for roll, count in stats.counts_by_roll(using=self.queryset.db).items()
        ]
