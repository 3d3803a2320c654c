"""The list of jobs: its tabs, and its columns by tab."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR
from django.core.paginator import Page
from django.http import HttpRequest
from django.utils.functional import cached_property

from .. import stats
from ..stats import Count, ShownState, claim_order
from ..stats.claim_order import Place
from . import exporting, shown
from .base import CappedPaginator
from .continuing import AFTER, ContinuedChangeList
from .filters import ErrorFilter, StateFilter, chosen_state, ordered_by

COMMON = ("number", "kind_and_queue", "state_shown", "attempt_of_most")
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


class PendingPaginator(CappedPaginator):
    """Reads the pages of the pending jobs in claim order, which no one index has."""

    object_list: Any
    place: Place | None = None

    @cached_property
    def counted(self) -> Count:
        return claim_order.counted(self.object_list, self.place)

    def page(self, number: int | str) -> Any:
        number = self.validate_number(number)
        begin = (number - 1) * self.per_page
        return Page(claim_order.page(self.object_list, begin, begin + self.per_page, self.place), number, self)


def paginator(request: HttpRequest, jobs: Any, per_page: int) -> CappedPaginator:
    """Return what cuts the list into pages."""
    if ordered_by(request) is not ShownState.PENDING:
        return CappedPaginator(jobs, per_page)
    pages = PendingPaginator(jobs, per_page)
    if after := request.GET.get(AFTER):
        pages.place = stats.claim_place(jobs, after)
    return pages


class JobChangeList(ContinuedChangeList):
    """Adds ``tabs``, and ``exports``, the labels and addresses of the list as a file."""

    def get_results(self, request: HttpRequest) -> None:
        self.shown_state, self.ordered_by = chosen_state(request), ordered_by(request)
        super().get_results(request)
        self.exports = exporting.links(self.model_admin, request)  # type: ignore[arg-type]
        self.tabs = [self._tab(None, None), *(self._tab(shown, count) for shown, count in self._counts().items())]

    def place_of(self, row: Any) -> str:
        return stats.place_of(row, self.ordered_by)

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
