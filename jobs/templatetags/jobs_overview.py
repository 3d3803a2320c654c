"""The line of figures above the app's models: of those alone that this user sees on this admin site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django import template
from django.db import router
from django.forms import Media
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .. import stats
from ..exceptions import TooSlow
from ..models import CronJob, Job, Queue, Worker
from ..stats import Roll, ShownState

# A label, a figure, where it leads, and whether somebody should look at it.
Figures = Iterator[tuple[Any, Any, str, bool]]

STYLES = Media(css={"all": ["jobs/admin.css"]})

register = template.Library()


@register.inclusion_tag("admin/jobs/_overview.html", takes_context=True)
def jobs_overview(context: Mapping[str, Any]) -> dict[str, Any]:
    """Show how jobs, workers, queues and schedules stand."""
    urls = {model["model"]: model.get("admin_url") for app in context["app_list"] for model in app["models"]}
    using = router.db_for_write(Job)
    try:
        with stats.patience(using=using):
            seen = [figures for model, figures in FIGURES.items() if urls.get(model)]
            found = [figure for figures in seen for figure in figures(urls, using)]
    except TooSlow:
        return {"is_too_slow": True}
    return {"figures": [dict(zip(("label", "figure", "url", "is_bad"), figure, strict=True)) for figure in found]}


@register.simple_tag(takes_context=True)
def jobs_styles(context: Mapping[str, Any]) -> Any:
    """Link our style sheet, with a nonce where the site has one."""
    nonce = context.get("csp_nonce")
    return STYLES if nonce is None else STYLES.render(attrs={"nonce": nonce})


def _jobs(urls: Mapping[Any, str], using: str) -> Figures:
    counts = stats.counts_by_state(using=using)
    for state in (ShownState.PENDING, ShownState.RUNNING, ShownState.DEAD):
        is_bad = state is ShownState.DEAD and counts[state].number > 0
        yield state.label, counts[state], f"{urls[Job]}?state={state}", is_bad


def _workers(urls: Mapping[Any, str], using: str) -> Figures:
    counts = stats.counts_by_roll(using=using)
    yield _("Live workers"), counts[Roll.LIVE], f"{urls[Worker]}?condition={Roll.LIVE}", not counts[Roll.LIVE]
    if late := counts[Roll.LATE]:
        yield ngettext("Late worker", "Late workers", late), late, f"{urls[Worker]}?condition={Roll.LATE}", True


def _queues(urls: Mapping[Any, str], using: str) -> Figures:
    if paused := stats.paused_queues(using=using):
        yield ngettext("Paused queue", "Paused queues", paused), paused, urls[Queue], True


def _schedules(urls: Mapping[Any, str], using: str) -> Figures:
    troubled = stats.troubled_schedules(using=using)
    if late := troubled.late:
        yield ngettext("Late schedule", "Late schedules", late), late, f"{urls[CronJob]}?standing=late", True
    if failed := troubled.failed:
        stopped = ngettext("Schedule with an error", "Schedules with errors", failed)
        yield stopped, failed, f"{urls[CronJob]}?standing=failed", True


FIGURES: dict[Any, Callable[[Mapping[Any, str], str], Figures]] = {
    Job: _jobs,
    Worker: _workers,
    Queue: _queues,
    CronJob: _schedules,
}
