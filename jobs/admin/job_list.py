"""The list of jobs: its tabs, its columns by tab, and where it goes on."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR
from django.http import HttpRequest

from .. import stats
from ..stats import Count, ShownState
from . import shown
from .base import FixedOrderChangeList
from .filters import ContinueFilter, ErrorFilter, StateFilter, chosen_state

COMMON = ("number", "kind", "queue", "state_shown", "attempt_of_most")
COLUMNS: dict[ShownState | None, tuple[str, ...]] = {
    None: ("due", "error_cut"),
    ShownState.SCHEDULED: ("due", "priority"),
    ShownState.BACKING_OFF: ("due", "error_cut"),
    ShownState.PENDING: ("due", "priority"),
    ShownState.RUNNING: ("started", "worker"),
    ShownState.SUCCEEDED: ("finished", "took"),
    ShownState.DEAD: ("finished", "error_cut"),
    ShownState.CANCELLED: ("finished", "error_cut"),
}
STATE, AFTER, ERROR = (str(each.parameter_name) for each in (StateFilter, ContinueFilter, ErrorFilter))


def columns(request: HttpRequest) -> tuple[str, ...]:
    """Return what is worth a column for jobs of the state that the list shows."""
    return COMMON + COLUMNS[chosen_state(request)]


class JobChangeList(FixedOrderChangeList):
    """Adds ``tabs``, and ``next_place``: the way on from the last page, where there is more than is counted."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.shown_state = chosen_state(request)
        self.tabs = [self._tab(None, None), *(self._tab(shown, count) for shown, count in self._counts().items())]
        paginator: Any = self.paginator
        is_last = self.page_num == paginator.num_pages
        last = list(self.result_list)[-1:] if paginator.counted.is_capped and is_last else []
        self.next_place = last[0] if last else None
        self.next_url = (
            self.get_query_string({AFTER: stats.place_of(last[0], self.shown_state)}, [PAGE_VAR]) if last else ""
        )
        self.first_url = self.get_query_string({}, [AFTER, PAGE_VAR]) if AFTER in self.params else ""

    def _counts(self) -> dict[ShownState, Count | None]:
        """Count every state if nothing else narrows the list; else the figures would be of other lists."""
        if set(self.params) - {STATE, PAGE_VAR, SEARCH_VAR} or self.query:
            return dict.fromkeys(ShownState)
        return {**stats.counts_by_state(using=self.queryset.db)}

    def _tab(self, state: ShownState | None, count: Count | None) -> dict[str, Any]:
        return {
            "label": state.label if state else "",
            "glyph": shown.STATES[state][0] if state else "",
            "count": count,
            "url": self.get_query_string({STATE: state} if state else {}, [STATE, PAGE_VAR, AFTER, ERROR]),
            "is_current": state == self.shown_state,
        }
