"""Carrying out a bulk operation, a chunk of jobs at a time, and going on where it was left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from django.db import router, transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from .. import clock, registry
from ..models import BulkOperation, JobEvent
from ..stats import Selection
from .batches import CHUNK, Report
from .bulk import BULK_ACTIONS, VIEW, Status, place
from .decision import Actor, Decision

# Ids are read so many at a time: few reads, and little to keep.
PAGE = 50_000


class Overtaken(Exception):
    """Somebody else has done this chunk, or ended the operation."""


def carry_out(pk: int, *, using: str = "") -> Iterator[Report]:
    """
    Do what is left of a bulk operation, and yield a report of each chunk when it is committed.

    A chunk and what is counted of it commit together, under the condition
    that the operation still is where it was: so each chunk is counted once,
    whoever else is at it. Ends at once for what has finished or was stopped.
    """
    alias = using or router.db_for_write(BulkOperation)
    rows = BulkOperation.objects.using(alias).filter(pk=pk)
    begun = rows.filter(status__in=(*BulkOperation.OPEN, Status.FAILED))
    if begun.update(status=Status.RUNNING, started_at=Coalesce("started_at", clock.now()), finished_at=None, error=""):
        yield from _Walk(rows.get(), alias).reports()


class _Walk:
    """The way through the jobs of one operation, newest first."""

    def __init__(self, row: BulkOperation, using: str) -> None:
        self.row = row
        self.using = using
        self.action = BULK_ACTIONS[row.action]
        self.selection = Selection.of(row)
        self.last_id = row.last_id

    def reports(self) -> Iterator[Report]:
        while ids := self.selection.ids_below(self.last_id, PAGE, using=self.using):
            for start in range(0, len(ids), CHUNK):
                if not self._may_go_on():
                    return
                try:
                    yield self._chunk(ids[start : start + CHUNK])
                except Overtaken:
                    return
        self._end(Status.FINISHED)

    def _may_go_on(self) -> bool:
        """Say so, or end: it was stopped, or who wanted it may not do such a thing any more."""
        row = self._rows().values("status", "stop_requested_at").first()
        if row is None or row["status"] != Status.RUNNING:
            return False
        if row["stop_requested_at"] is not None:
            self._end(Status.STOPPED)
            return False
        actor = actor_of(self.row)
        if not (actor.permits(VIEW) and actor.permits(self.action.permission)):
            self._end(Status.FAILED, f"{self.row.actor_label} is not permitted to do this any more.")
            return False
        # Asked now, so that no backend of the site is called while the chunk's transaction is open.
        registry.barred(actor.permits)
        self.actor = actor
        return True

    def _chunk(self, ids: list[int]) -> Report:
        with transaction.atomic(using=self.using):
            meant = self.selection.still_among(ids, using=self.using)
            parameters = _loaded(self.row.parameters)
            report = self.action.operation(meant, actor=self.actor, reason=self.row.reason, **parameters)
            report.skipped = len(ids) - report.handled
            self._advance(ids[-1], report)
        self.last_id = ids[-1]
        return report

    def _advance(self, last_id: int, report: Report) -> None:
        here = self._rows().filter(status=Status.RUNNING, **place(self.last_id))
        moved = here.update(
            last_id=last_id,
            done=F("done") + report.moved,
            asked=F("asked") + report.asked,
            skipped=F("skipped") + report.skipped,
            blocked=F("blocked") + len(report.blocked_by),
            forbidden=F("forbidden") + report.forbidden,
        )
        if not moved:
            raise Overtaken

    def _end(self, status: str, error: str = "") -> None:
        """Say how it ended, with one event; jobs that moved on before they were come to count as left alone."""
        with transaction.atomic(using=self.using):
            row = self._rows().get()
            left = (row.left or 0) if status == Status.FINISHED else 0
            ended = (
                self._rows()
                .filter(status=Status.RUNNING)
                .update(status=status, error=error, finished_at=clock.now(), skipped=F("skipped") + left)
            )
            if ended:
                row.refresh_from_db(using=self.using)
                self._event(row).save(using=self.using)

    def _event(self, row: BulkOperation) -> JobEvent:
        text = f"Bulk operation #{row.pk} ({row.action}) {row.status}: {row.done + row.asked} jobs done"
        text += f", {row.looked_at - row.done - row.asked} left alone. {row.reason}".rstrip()
        return Decision.of(Actor(row.actor_id, row.actor_label), text).event(JobEvent.Kind.BULK)

    def _rows(self) -> Any:
        return BulkOperation.objects.using(self.using).filter(pk=self.row.pk)


def actor_of(row: BulkOperation) -> Actor:
    """Return who wanted it, and what they may do now; whoever is no user, as code, may do everything."""
    if not row.actor_id:
        return Actor("", row.actor_label)
    from django.contrib.auth import get_user_model

    user = get_user_model()._default_manager.filter(pk=row.actor_id).first()
    return Actor(row.actor_id, row.actor_label, cache(user.has_perm) if user else _nothing)


def _nothing(permission: str) -> bool:
    return False


def _loaded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an operation as it takes them: JSON has no times."""
    return {name: datetime.fromisoformat(value) if name == "run_at" else value for name, value in parameters.items()}
