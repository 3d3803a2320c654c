"""The list of jobs: its tabs, and its columns by tab."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR
from django.http import HttpRequest

from .. import stats
from ..stats import Count, ShownState
from . import shown
from .continuing import AFTER, ContinuedChangeList
from .filters import ErrorFilter, StateFilter, chosen_state

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
STATE, ERROR = (str(each.parameter_name) for each in (StateFilter, ErrorFilter))


def columns(request: HttpRequest) -> tuple[str, ...]:
    """Return what is worth a column for jobs of the state that the list shows."""
    return COMMON + COLUMNS[chosen_state(request)]


class JobChangeList(ContinuedChangeList):
    """Adds ``tabs``."""

    def get_results(self, request: HttpRequest) -> None:
        self.shown_state = chosen_state(request)
        super().get_results(request)
        self.tabs = [self._tab(None, None), *(self._tab(shown, count) for shown, count in self._counts().items())]

    def place_of(self, row: Any) -> str:
        return stats.place_of(row, self.shown_state)

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
