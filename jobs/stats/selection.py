"""All jobs that match a filter at one moment: frozen, so that what comes to match later is never among them."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any

from django.utils.translation import gettext as _

from .. import clock
from ..exceptions import InvalidJob
from ..models import BulkOperation, Job, JobEvent, JobRun
from ..models.among import Among
from ..models.queryset import JobQuerySet
from ..numerals import grouped
from ..options import check_kind, check_queue
from ..states import State
from . import counts, search
from .counts import Count
from .keyset import beyond
from .signatures import check_signature, with_signature
from .signs import ShownState, in_shown_state

# What may be in a filter, as the list of jobs has it in its address.
PARAMETERS = ("state", "after", "queue", "kind", "error", "q")
CHECKS = {"queue": check_queue, "kind": check_kind, "error": check_signature}
# Events after which a job is still what it was.
HARMLESS = (JobEvent.Kind.PAYLOAD_VIEWED, JobEvent.Kind.COPIED, JobEvent.Kind.ENQUEUED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """
    The jobs that matched ``filter`` and were in one of ``states`` at the time ``at``, and have not moved since.

    ``filter`` has parameters of the list of jobs, ``ids`` in place of what a
    search found, and ``above_id`` where the list looks at the newest jobs only.
    """

    filter: Mapping[str, Any]
    states: tuple[ShownState, ...]
    max_id: int
    at: datetime

    @classmethod
    def of(cls, row: BulkOperation) -> Selection:
        states = tuple(ShownState(state) for state in row.states)
        return cls(filter=row.filter, states=states, max_id=row.max_id, at=row.frozen_at)

    @property
    def state(self) -> ShownState | None:
        """The state that the list shows, if it shows one."""
        return ShownState(self.filter["state"]) if "state" in self.filter else None

    @property
    def is_windowed(self) -> bool:
        """Whether it is of the newest jobs only; their list is in the order of their ids, whatever their state."""
        return "above_id" in self.filter

    def count(self, *, using: str) -> Count:
        """Count the jobs, no further than ``MOST``."""
        return Count.of(sum(part.values("pk")[: counts.MOST + 1].count() for part in self._parts(using)))

    def total(self, *, using: str) -> int:
        """Count all of them, however many."""
        return sum(part.order_by().count() for part in self._parts(using))

    def samples(self, number: int, *, using: str) -> list[Job]:
        """Return some of them."""
        parts = (part.only("kind", "queue", "error")[:number] for part in self._parts(using))
        return list(islice((job for part in parts for job in part), number))

    def ids_below(self, last_id: int | None, limit: int, *, using: str) -> list[int]:
        """Return the ids of the next jobs below ``last_id``, or from the newest, downwards."""
        first = self.max_id + 1 if last_id is None else last_id
        parts = (part.filter(pk__lt=first).order_by("-pk").values_list("pk", flat=True) for part in self._parts(using))
        return list(islice(heapq.merge(*(part[:limit] for part in parts), reverse=True), limit))

    def still_among(self, ids: Collection[int], *, using: str) -> JobQuerySet:
        """Filter to those of ``ids`` that match now and to which nothing has happened since."""
        runs = JobRun.objects.using(using).filter(Among("job_id", ids), finished_at__gt=self.at)
        events = JobEvent.objects.using(using).filter(Among("job_id", ids), at__gt=self.at).exclude(kind__in=HARMLESS)
        moved = {job_id for rows in (runs, events) for job_id in rows.values_list("job_id", flat=True)}
        some: JobQuerySet = reduce(or_, (part.order_by() for part in self._parts(using)))
        # Cut, so that it is read in one go.
        return some.filter(Among("pk", [pk for pk in ids if pk not in moved]))[: len(ids)]

    def by_state(self, *, using: str) -> Iterator[tuple[ShownState, JobQuerySet]]:
        """Yield the jobs that match and are in each state now, which an index has, in no order."""
        jobs = self._narrowed(Job.objects.using(using).filter(pk__lte=self.max_id))
        for shown in self.states:
            yield shown, in_shown_state(jobs, shown)

    def _parts(self, using: str) -> Iterator[JobQuerySet]:
        return (self._settled(jobs, shown).order_by(*shown.order) for shown, jobs in self.by_state(using=using))

    def _narrowed(self, jobs: JobQuerySet) -> JobQuerySet:
        wanted = self.filter
        names = {name: wanted[name] for name in ("queue", "kind") if name in wanted}
        jobs = jobs.filter(pk__gt=wanted.get("above_id", 0), **names)
        if "error" in wanted:
            jobs = with_signature(jobs, wanted["error"])
        if "ids" in wanted:
            jobs = jobs.filter(pk__in=wanted["ids"])
        order = None if self.is_windowed else self.state
        return beyond(jobs, order, wanted["after"]) if "after" in wanted else jobs

    def _settled(self, jobs: JobQuerySet, shown: ShownState) -> JobQuerySet:
        """Leave out what has come into this state since, as far as the row tells; ``still_among`` knows the rest."""
        if shown.stored.is_final:
            return jobs.filter(finished_at__lte=self.at)
        # Where the list shows no state, a job goes on matching when it is promoted or claimed.
        column = {State.PENDING: "run_at", State.RUNNING: "started_at"}.get(shown.stored) if self.state else None
        return jobs.filter(**{f"{column}__lte": self.at}) if column else jobs


def freeze(parameters: Mapping[str, str], states: Iterable[ShownState], *, using: str) -> Selection:
    """
    Return what matches the list's ``parameters`` now and is in one of ``states``.

    Raises ``InvalidJob`` for a parameter that means nothing.
    """
    wanted: dict[str, Any] = {name: parameters[name] for name in PARAMETERS if name in parameters}
    _check(wanted)
    max_id = Job.objects.using(using).order_by("-pk").values_list("pk", flat=True).first() or 0
    state = ShownState(wanted["state"]) if "state" in wanted else None
    is_windowed = any(search.is_windowed(name, state, wanted) for name in ("queue", "kind") if name in wanted)
    if is_windowed:
        wanted["above_id"] = max(0, max_id - search.WINDOW)
    if "after" in wanted:
        beyond(Job.objects.using(using), None if is_windowed else state, wanted["after"])
    term = wanted.get("q", "").strip()
    if term:
        wanted["ids"] = sorted(search.found(Job.objects.using(using), term).values_list("pk", flat=True))
    meant = tuple(each for each in states if state in (None, each))
    at = clock.read(using)
    # SQLite compares text: a full second without a fraction would come before what was stored in that moment.
    at = at.replace(microsecond=at.microsecond or 1)
    return Selection(filter=wanted, states=meant, max_id=max_id, at=at)


def _check(wanted: Mapping[str, str]) -> None:
    if "state" in wanted and wanted["state"] not in ShownState.values:
        raise InvalidJob(f"state={wanted['state']!r} is none of {', '.join(ShownState.values)}.")
    if "error" in wanted and wanted.get("state") != ShownState.DEAD:
        raise InvalidJob("Only dead jobs are found by their error.")
    if "\0" in wanted.get("q", ""):
        raise InvalidJob("Nothing has a null character in its name.")
    for name, check in CHECKS.items():
        if name in wanted:
            check(wanted[name])


def spoken(selection: Selection) -> Iterator[tuple[str, str]]:
    """Yield the filter in words: what each part is called, and what it says."""
    wanted = selection.filter
    newest = (
        _(" (among the newest %(count)s jobs)") % {"count": grouped(search.WINDOW)} if selection.is_windowed else ""
    )
    states = ", ".join(str(state.label) for state in selection.states)
    yield _("State"), states or str(selection.state.label if selection.state else "")
    for name, label in (("kind", _("Kind")), ("queue", _("Queue"))):
        if name in wanted:
            yield label, wanted[name] + newest
    if "error" in wanted:
        yield _("Error"), wanted["error"] or _("(none)")
    if "ids" in wanted:
        yield _("Search"), wanted["q"]
    if "after" in wanted:
        yield _("From"), _("after job #%s of that list") % wanted["after"].partition("@")[0]
