"""Running due jobs until none is left, with the claims and settles of a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connections
from django.db.models import F, Subquery, TextField, Value

from .. import clock, leases, maintenance, schedules, states
from ..admission import moment_text
from ..conf import settings
from ..exceptions import JobsError
from ..leases import Claimed
from ..models import Job, Queue
from ..outcomes import EXPIRED
from . import running
from .running import Ran

WORKER = "run_jobs"


def run_jobs(
    *,
    with_scheduled: bool | datetime = False,
    queues: Sequence[str] = (),
    raise_errors: bool = True,
    max_runs: int = 1_000,
    using: str | None = None,
) -> list[Ran]:
    """
    Run due jobs until none is left, and return the runs in order; jobs that they enqueue, and those of due schedules, too.

    Works inside a ``TestCase``: on its connection, in its transaction, with
    no threads. ``with_scheduled`` also runs what is scheduled, earliest first
    and each after all that is due before it: everything (True) or what is due
    by a datetime. Retries that back off are scheduled too. Stored times stay
    as they are, and handlers see the real time. ``queues`` limits the run to
    these, in strict order; paused queues are left.

    Callbacks that a handler registers with ``transaction.on_commit`` run when
    it ends. What a handler raises is settled as a worker would, and then
    raised here, unless ``raise_errors`` is False; a ``Retry``, ``Snooze``,
    ``Discard`` or ``Cancel`` is no error. More than ``max_runs`` runs raise
    ``JobsError`` naming the kinds that keep coming back.
    """
    source = _Source(with_scheduled, queues, using or Job.objects.all().write_alias)
    runs: list[Ran] = []
    while claimed := source.take():
        if len(runs) >= max_runs:
            leases.release([claimed.lease], started=False, using=source.using)
            raise JobsError(_endless(runs, max_runs, claimed))
        ran = running.run(claimed, using=source.using)
        if raise_errors and ran.error is not None:
            raise ran.error
        runs.append(ran)
    return runs


def _endless(runs: list[Ran], max_runs: int, claimed: Claimed) -> str:
    often = Counter([*(run.kind for run in runs), claimed.kind]).most_common(3)
    kinds = ", ".join(f"{kind!r} ({times} times)" for kind, times in often)
    return (
        f"There is still work after max_runs={max_runs} runs, most of it {kinds}: "
        "a job that enqueues, retries or snoozes itself for ever never drains. "
        "Limit with_scheduled to a datetime, or raise max_runs."
    )


class _Source:
    """Where the next job comes from."""

    def __init__(self, with_scheduled: bool | datetime, queues: Sequence[str], using: str) -> None:  # noqa: FBT001 (as given)
        self.using = using
        self._is_looked_after = False
        self._queues = (queues,) if isinstance(queues, str) else queues
        self._until: Any = with_scheduled
        if not isinstance(with_scheduled, bool):
            text = moment_text(with_scheduled, "with_scheduled", vendor=connections[using].vendor)
            self._until = Value(text, output_field=TextField())

    def take(self) -> Claimed | None:
        """Claim the next job, ahead of its time if that is asked for; None when nothing is left."""
        claimed = self._claim() if self._is_looked_after else None
        if claimed is None:
            self._look_after_the_rest()
            claimed = self._claim()
        while claimed is None and self._until and self._advance():
            claimed = self._claim()
        return claimed

    def _look_after_the_rest(self) -> None:
        """Do what a worker's scheduler and janitor do; here at the start, and whenever there seems to be nothing left."""
        leases.rescue(using=self.using)
        maintenance.expire(using=self.using)
        while schedules.tick(using=self.using):
            continue
        maintenance.promote(using=self.using)
        self._is_looked_after = True

    def _claim(self) -> Claimed | None:
        paused = list(Queue.objects.using(self.using).paused().values_list("name", flat=True))
        common: dict[str, Any] = {"paused": paused, "lease_seconds": settings.lease_seconds, "using": self.using}
        now, _ = leases.claim(WORKER, self._queues, slots=1, **common)
        claimed = now or leases.claim_suspect(WORKER, self._queues, **common)
        return claimed[0] if claimed else None

    def _advance(self) -> int:
        """Make pending, or cancel as expired, what is scheduled for the next moment; return how many rows changed."""
        jobs = Job.objects.using(self.using)
        # A job that nobody here handles was put off, and would come back for ever.
        scheduled = jobs.scheduled().filter(unknown_since__isnull=True)
        if self._queues:
            scheduled = scheduled.filter(queue__in=list(self._queues))
        if self._until is not True:
            scheduled = scheduled.filter(run_at__lte=self._until)
        first = scheduled.order_by("run_at").values("run_at")[:1]
        due = jobs.filter(pk__in=list(scheduled.filter(run_at__lte=Subquery(first)).values_list("pk", flat=True)))
        late = due.filter(expires_at__lte=F("run_at")).move(states.EXPIRE, finished_at=clock.now(), error=EXPIRED)
        return late + due.move(states.PROMOTE)
