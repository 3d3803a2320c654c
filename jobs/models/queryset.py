"""The doors of ``Job.objects``: adjectives that filter, verbs that enqueue or hand on to ``operations``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from asgiref.sync import sync_to_async
from django.db import models, router
from django.db.models import Case, Q, Value, When

from .. import clock, enqueueing
from ..specs import Enqueued, JobSpec, spec_of
from ..states import Move, State
from .locking import unlocked

if TYPE_CHECKING:
    from ..operations import Actor, Report
    from ..registry import JobDefinition
    from .job import Job


class JobQuerySet(models.QuerySet["Job"]):
    def scheduled(self) -> Self:
        return self.filter(state=State.SCHEDULED)

    def pending(self) -> Self:
        return self.filter(state=State.PENDING)

    def running(self) -> Self:
        return self.filter(state=State.RUNNING)

    def succeeded(self) -> Self:
        return self.filter(state=State.SUCCEEDED)

    def dead(self) -> Self:
        return self.filter(state=State.DEAD)

    def cancelled(self) -> Self:
        return self.filter(state=State.CANCELLED)

    def due(self) -> Self:
        """Scheduled jobs whose time has come."""
        return self.scheduled().filter(run_at__lte=clock.now())

    def expired_leases(self) -> Self:
        """Running jobs whose worker has been silent for longer than the lease."""
        return self.running().filter(lease_expires_at__lt=clock.now())

    def move(self, move: Move, **changes: Any) -> int:
        """
        Make ``move`` on those rows that are in one of its sources; return how many.

        One conditional UPDATE, and the only place outside ``sql`` that
        assigns ``state``. A move that yields ends in ``cancelled`` where a
        cancel was requested.
        """
        state: Any = move.target
        if move.yields:
            asked = Q(cancel_requested_at__isnull=False)
            state = Case(When(asked, then=Value(State.CANCELLED)), default=Value(move.target))
        return self.filter(state__in=move.sources).update(state=state, **changes)

    def lock(self, *, of_any_key: bool = False) -> Self:
        """Lock the rows in id order, skipping what others hold, so that it never waits (a no-op on SQLite)."""
        return self.order_by("pk").locked(of_any_key=of_any_key)

    def locked(self, *, of_any_key: bool = False) -> Self:
        """Do as ``lock`` in the present order. ``of_any_key`` takes the stronger lock that DELETE needs."""
        return unlocked(self, of_any_key=of_any_key)

    @property
    def write_alias(self) -> str:
        """The database that changes to these rows go to; a router may read elsewhere."""
        chosen: str | None = self._db  # type: ignore[attr-defined]
        return chosen or router.db_for_write(self.model)

    def enqueue(
        self,
        kind: str | JobDefinition[..., Any] | JobSpec,
        payload: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Job:
        """
        Insert one job in the caller's transaction and return it.

        ``options`` are those of ``JobSpec``; a whole spec may stand in place
        of all. The job's ``created`` is False where a live job with the same
        ``unique_key`` was returned instead. Raises ``InvalidJob`` (a
        ValueError) and writes nothing when a field cannot be stored or the
        arguments do not fit the handler; ``DuplicateJob`` with
        ``on_conflict="raise"``.
        """
        return enqueueing.enqueue(self.model, spec_of(kind, payload, options), using=self.write_alias)

    async def aenqueue(
        self,
        kind: str | JobDefinition[..., Any] | JobSpec,
        payload: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Job:
        """Do as ``enqueue``, from async code."""
        return await sync_to_async(self.enqueue)(kind, payload, **options)

    def enqueue_many(self, specs: Iterable[JobSpec], *, chunk: int = 5_000) -> list[Enqueued]:
        """
        Insert many jobs, all or none, and return an id and a created flag for each, in order.

        Every spec is checked before the first is written. Much faster than
        one by one: a statement carries ``chunk`` rows.
        """
        return enqueueing.enqueue_many(self.model, specs, using=self.write_alias, chunk=chunk)

    async def aenqueue_many(self, specs: Iterable[JobSpec], *, chunk: int = 5_000) -> list[Enqueued]:
        """Do as ``enqueue_many``, from async code."""
        return await sync_to_async(self.enqueue_many)(specs, chunk=chunk)

    def retry(self, *, actor: Actor | None = None, reason: str = "") -> Report:
        """Make the dead and cancelled jobs among these pending; see ``operations.retry``."""
        from .. import operations

        return operations.retry(self, actor=actor, reason=reason)

    def cancel(self, *, actor: Actor | None = None, reason: str = "") -> Report:
        """Cancel these jobs or ask the running ones to stop; see ``operations.cancel``."""
        from .. import operations

        return operations.cancel(self, actor=actor, reason=reason)

    def trigger(self, *, actor: Actor | None = None, reason: str = "") -> Report:
        """Make the scheduled jobs among these pending now; see ``operations.trigger``."""
        from .. import operations

        return operations.trigger(self, actor=actor, reason=reason)

    def postpone(self, *, run_at: datetime, actor: Actor | None = None, reason: str = "") -> Report:
        """Let those of these jobs that wait do so until ``run_at``; see ``operations.postpone``."""
        from .. import operations

        return operations.postpone(self, run_at=run_at, actor=actor, reason=reason)

    def reroute(
        self,
        *,
        queue: str | None = None,
        priority: int | None = None,
        actor: Actor | None = None,
        reason: str = "",
    ) -> Report:
        """Give those of these jobs that wait another queue or priority; see ``operations.reroute``."""
        from .. import operations

        return operations.reroute(self, queue=queue, priority=priority, actor=actor, reason=reason)

    def discard(self, *, actor: Actor | None = None, reason: str = "") -> Report:
        """Cancel the dead jobs among these, for good; see ``operations.discard``."""
        from .. import operations

        return operations.discard(self, actor=actor, reason=reason)

    for _verb in (retry, cancel, trigger, postpone, reroute, discard):
        _verb.queryset_only = True  # type: ignore[union-attr]
