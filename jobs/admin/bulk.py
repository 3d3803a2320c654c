"""The page between choosing all jobs that match and doing something to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.db import router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .. import operations, registry, reports, stats
from ..exceptions import InvalidJob, TooSlow
from ..models import BulkOperation, Job
from ..numerals import grouped
from ..operations import Actor, Report, bulk
from ..reports import Sentence
from ..stats import Count, Selection, counts
from . import shown
from .actions import Action
from .forms import typed
from .sealing import seal, unseal

if TYPE_CHECKING:
    from .job import JobAdmin

MOST_SAMPLES = 10


def respond(admin: JobAdmin, request: HttpRequest, action: Action) -> HttpResponse:
    """Ask about, or do, ``action`` to all jobs that match the filters in the address."""
    using = router.db_for_write(Job)
    parameters = {name: request.GET[name] for name in stats.PARAMETERS if name in request.GET}
    back = f"{admin.url(Job, 'changelist')}?{urlencode(parameters)}"
    confirmed = unseal(request.POST.get("selection", ""), action.name)
    try:
        selection = confirmed or stats.freeze(parameters, bulk.BULK_ACTIONS[action.name].states, using=using)
    except InvalidJob:
        return HttpResponseRedirect(f"{admin.url(Job, 'changelist')}?e=1")
    # What is frozen only now, nobody has seen: it is asked about.
    data = request.POST if confirmed else None
    return _Visit(admin, request, action, selection, data, using, back).respond()


@dataclass(frozen=True, slots=True)
class _Visit:
    """One visit to the page."""

    admin: JobAdmin
    request: HttpRequest
    action: Action
    selection: Selection
    data: Any
    using: str
    back: str

    def respond(self) -> HttpResponse:
        count = self._count()
        if count == Count(0):
            self.admin.tell(self.request, Sentence(_("None of these jobs is in a state for this."), is_good=False))
            return HttpResponseRedirect(self.back)
        is_large = count is None or count.is_capped or count.number > bulk.MOST_AT_ONCE
        form = self._form(is_large=is_large)
        if not form.is_valid():
            return self._question(form, count, is_large=is_large)
        values = dict(form.cleaned_data)
        values.pop("word", None)
        return self._hand_over(values, count) if is_large else self._do(values, count)

    def _count(self) -> Count | None:
        """Count what is meant, or return None if that takes too long."""
        try:
            with stats.patience(using=self.using):
                return self.selection.count(using=self.using)
        except TooSlow:
            return None

    def _form(self, *, is_large: bool) -> Any:
        form = self.action.form(self.data, many=True)
        if is_large:
            form.fields["reason"].required = True
            form.fields["word"] = typed(str(self.action.label))
        return form

    def _question(self, form: Any, count: Count | None, *, is_large: bool) -> HttpResponse:
        return self.admin.page(
            self.request,
            "job/all.html",
            title=capfirst(self.action.on(_rows(count))),
            action=self.action,
            form=form,
            filters=list(stats.spoken(self.selection)),
            frozen_at=shown.moment(self.selection.at),
            left_alone=list(self._left_alone(count)),
            samples=self._samples(),
            more=grouped(count.number - MOST_SAMPLES) if count and MOST_SAMPLES < count.number < counts.MOST else "",
            is_large=is_large,
            kept={"selection": [seal(self.selection, self.action.name)]},
            back_url=self.back,
        )

    def _samples(self) -> list[Job]:
        try:
            with stats.patience(using=self.using):
                return self.selection.samples(MOST_SAMPLES, using=self.using)
        except TooSlow:
            return []

    def _left_alone(self, count: Count | None) -> Any:
        """Yield what of the filter is not meant, as far as it is known before."""
        if "state" not in self.selection.filter:
            states = ", ".join(str(state.label) for state in self.selection.states)
            yield _("Jobs in other states than these: %s.") % states
        barred = registry.barred(self.request.user.has_perm) if self.action.starts else []
        if barred:
            yield _("Jobs of kinds whose permission you do not have: %s.") % ", ".join(barred)
        yield _("Jobs that come to match, or to which anything happens, from now on.")

    def _do(self, values: dict[str, Any], count: Count | None) -> HttpResponse:
        row, total = self._plan(values, count.number if count else None), Report()
        for report in operations.carry_out(row.pk, using=self.using):
            total.include(report)
        row.refresh_from_db(using=self.using)
        total.skipped = row.skipped
        self.admin.tell(self.request, *_WORDED[self.action.name](total))
        return HttpResponseRedirect(self.back)

    def _hand_over(self, values: dict[str, Any], count: Count | None) -> HttpResponse:
        matched = self._total() if count is None or count.is_capped else count.number
        with transaction.atomic(using=self.using):
            row = self._plan(values, matched)
            job = bulk.hand_over(row)
        self.admin.tell(self.request, Sentence(_("This is done in the background, by job #%d.") % job.pk))
        if not self.admin.admin_site.is_registered(BulkOperation):
            return HttpResponseRedirect(self.admin.url(Job, "change", job.pk))
        return HttpResponseRedirect(self.admin.url(BulkOperation, "change", row.pk))

    def _total(self) -> int | None:
        try:
            with stats.patience(using=self.using):
                return self.selection.total(using=self.using)
        except TooSlow:
            return None

    def _plan(self, values: Mapping[str, Any], matched: int | None) -> BulkOperation:
        parameters = {name: _as_json(value) for name, value in values.items() if name != "reason"}
        return bulk.plan(
            self.action.name,
            self.selection,
            parameters,
            matched=matched,
            actor=Actor.of(self.request.user),
            reason=values["reason"],
            using=self.using,
        )


_WORDED = {
    "retry": reports.of_retry,
    "trigger": reports.of_trigger,
    "postpone": reports.of_postpone,
    "reroute": reports.of_reroute,
    "cancel": reports.of_cancel,
    "rescue": reports.of_rescue,
    "discard": reports.of_discard,
}


def _rows(count: Count | None) -> str:
    if count is None:
        return _("all matching jobs")
    if count.is_capped:
        return _("more than %s jobs") % grouped(count.number)
    return ngettext("%s job", "all %s jobs", count.number) % grouped(count.number)


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
