"""Going on in a long list where its last page ended, without reading what came before."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import DateTimeField, Subquery, Value
from django.db.models.functions import Coalesce

from ..admission import check_moment
from ..exceptions import InvalidJob
from ..models import Job
from ..models.places import comes_after
from ..models.queryset import JobQuerySet
from . import claim_order
from .claim_order import Place
from .search import as_id
from .signs import ShownState


def place_of(job: Job, shown: ShownState | None) -> str:
    """Return, as text, the place of ``job`` in the list of all jobs or of those of one state."""
    if shown is ShownState.PENDING:
        return f"{job.pk}@{job.run_at.isoformat()}@{job.priority}"
    column, _ = _order(shown)
    at: datetime | None = getattr(job, column) if column else None
    return f"{job.pk}" if at is None else f"{job.pk}@{at.isoformat()}"


def beyond(jobs: JobQuerySet, shown: ShownState | None, place: str) -> JobQuerySet:
    """Filter to what comes after that place in the same list; raise ``InvalidJob`` if it is none."""
    if shown is ShownState.PENDING:
        return jobs.filter(reduce(or_, claim_order.parts(claim_place(jobs, place))))
    column, is_rising = _order(shown)
    text, _, moment = place.partition("@")
    job_id = as_id(text)
    if job_id is None or bool(moment) != bool(column):
        raise InvalidJob(f"{place!r} is no place in this list.")
    if not column:
        return jobs.filter(pk__lt=job_id)
    return jobs.filter(comes_after(column, _stored(jobs, job_id, column, _moment(moment)), job_id, rising=is_rising))


def claim_place(jobs: JobQuerySet, place: str) -> Place:
    """Return a place among the pending jobs; raise ``InvalidJob`` if it is none."""
    text, _, rest = place.partition("@")
    moment, _, priority = rest.partition("@")
    job_id = as_id(text)
    if job_id is None or not _PRIORITY.fullmatch(priority):
        raise InvalidJob(f"{place!r} is no place in this list.")
    return Place(priority=int(priority), run_at=_stored(jobs, job_id, "run_at", _moment(moment)), id=job_id)


_PRIORITY = re.compile(r"-?\d{1,3}")


def _stored(jobs: JobQuerySet, job_id: int, column: str, at: datetime) -> Any:
    """
    Return a time as the database compares it, which is what the job still has, unless it has moved.

    SQLite has text, which may have been written in several ways. Without
    USE_TZ a time may be one of two in autumn, and ``at`` is the first.
    """
    is_text = connections[jobs.db].vendor == "sqlite"
    if settings.USE_TZ and not is_text:
        return at
    # No more than what is lost on the way here: else a job that is put off takes the place with it.
    lost = timedelta(milliseconds=1) if is_text else timedelta(hours=1)
    still = {"pk": job_id, f"{column}__range": (at - lost, at + lost)}
    own = Job.objects.using(jobs.db).filter(**still).values(column)[:1]
    return Coalesce(Subquery(own), Value(at, output_field=DateTimeField()))


def _order(shown: ShownState | None) -> tuple[str, bool]:
    """Return the column of time by which the list is ordered, if by any, and whether it rises."""
    first = "-pk" if shown is None else shown.order[0]
    return first.lstrip("-").replace("pk", ""), not first.startswith("-")


def _moment(text: str) -> datetime:
    try:
        return check_moment(datetime.fromisoformat(text), "place")
    except ValueError as error:
        raise InvalidJob(f"{text!r} is no time.") from error
