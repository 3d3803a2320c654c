"""The newest runs of some jobs, as a row of bars and a few figures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext as _

from .. import stats
from ..durations import spoken
from ..models import JobRun
from ..stats import Lately

# Fewer say nothing that the lists do not.
FEWEST = 5
STEP, WIDTH, HEIGHT, LEAST = 9, 6, 36, 2


def section(lately: Lately, title: str, jobs_url: str) -> dict[str, Any] | None:
    """Return what ``admin/jobs/_lately.html`` shows; nothing where there were hardly any. ``jobs_url`` has all those jobs."""
    if len(lately.runs) < FEWEST:
        return None
    return {
        "title": title,
        "jobs_url": jobs_url,
        "bars": list(_bars(lately)),
        "width": STEP * len(lately.runs),
        "height": HEIGHT,
        "figures": list(_figures(lately)),
    }


def _figures(lately: Lately) -> Iterator[tuple[str, Any]]:
    yield _("Runs"), len(lately.runs)
    yield _("Failed"), _("%(percent)d %%") % {"percent": round(100 * lately.failed)}
    for label, length in (
        (_("Took, median"), lately.took(0.5)),
        (_("Took, 95 %"), lately.took(0.95)),
        (_("Waited, 95 %"), lately.waited(0.95)),
    ):
        if length is not None:
            yield label, spoken(length)


def _bars(lately: Lately) -> Iterator[dict[str, Any]]:
    longest = max((stats.duration(run) or timedelta(0) for run in lately.runs), default=timedelta(0))
    for place, run in enumerate(lately.runs):
        height = max(LEAST, round(HEIGHT * _share(stats.duration(run), longest)))
        yield {
            "x": STEP * place,
            "y": HEIGHT - height,
            "width": WIDTH,
            "height": height,
            "tone": stats.tone(run),
            "title": _title(run),
        }


def _share(length: timedelta | None, longest: timedelta) -> float:
    return length / longest if length and longest else 0.0


def _title(run: JobRun) -> str:
    parts = [f"#{run.job_id}", run.get_outcome_display(), spoken(stats.duration(run)), run.exception_class]
    return " · ".join(part for part in parts if part)
