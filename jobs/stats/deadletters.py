"""Dead jobs by kind and error, among the newest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from django.db.models.functions import Left

from ..models import Job
from ..models.queryset import JobQuerySet
from .counts import Count
from .signatures import CHARS, signature_of, with_signature

# How many of the newest dead jobs are looked at.
WINDOW = 10_000


@dataclass(slots=True, kw_only=True)
class DeadGroup:
    """Dead jobs of one kind whose errors have one signature; ``newest_id`` is the job that died last."""

    kind: str
    signature: str
    count: int = 0
    first_at: datetime
    last_at: datetime
    newest_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadGroups:
    """The groups, largest first, and how many dead jobs they are made of; there are more if that is capped."""

    groups: list[DeadGroup]
    total: Count


def dead_groups(*, using: str) -> DeadGroups:
    """Group the newest dead jobs by kind and error (one query)."""
    rows = _newest(using).annotate(beginning=Left("error", CHARS))
    found = list(rows.values_list("pk", "kind", "beginning", "finished_at")[: WINDOW + 1])
    groups = sorted(_grouped(found[:WINDOW]), key=attrgetter("count", "last_at"), reverse=True)
    return DeadGroups(groups=groups, total=Count(len(found[:WINDOW]), len(found) > WINDOW))


def _grouped(rows: Iterable[tuple[int, str, str, Any]]) -> Iterable[DeadGroup]:
    """Group rows that come newest first."""
    groups: dict[tuple[str, str], DeadGroup] = {}
    signatures: dict[str, str] = {}
    for pk, kind, error, at in rows:
        if error not in signatures:
            signatures[error] = signature_of(error)
        signature = signatures[error]
        newest = DeadGroup(kind=kind, signature=signature, first_at=at, last_at=at, newest_id=pk)
        group = groups.setdefault((kind, signature), newest)
        group.count += 1
        group.first_at = at
    return groups.values()


def died_of(jobs: JobQuerySet, signature: str) -> JobQuerySet:
    """Filter to those that died of an error with this signature, among the dead jobs that ``dead_groups`` looks at."""
    dead = with_signature(jobs.dead().filter(finished_at__isnull=False), signature)
    oldest: Any
    for oldest in _newest(jobs.db).values_list("finished_at", flat=True)[WINDOW - 1 : WINDOW]:
        # SQLite compares text, in which a millisecond may be written in two ways.
        dead = dead.filter(finished_at__gt=oldest - timedelta(milliseconds=1))
    return dead


def _newest(using: str) -> JobQuerySet:
    return Job.objects.using(using).dead().filter(finished_at__isnull=False).order_by("-finished_at", "-pk")
