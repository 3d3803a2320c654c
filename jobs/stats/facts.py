"""What must be known to explain the state of a job, read in few queries."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import router
from django.db.models import Q, Subquery

from .. import clock
from ..models import Job, JobEvent, JobRun, Queue, Worker
from ..states import LIVE, State

# Enough to say that it will be long.
MOST_AHEAD = 10_000

STOPS = (JobEvent.Kind.CANCELLED, JobEvent.Kind.CANCEL_REQUESTED, JobEvent.Kind.DISCARDED)
TURNS = (*STOPS, JobEvent.Kind.RETRIED, JobEvent.Kind.QUARANTINED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """
    What is known beside the row itself. ``crew`` are the live workers that
    still claim; ``ahead`` are the jobs of its queue that come first, counted
    to ``MOST_AHEAD``; ``decision`` is the last thing that changed its course.
    """

    now: datetime
    run: JobRun | None = None
    decision: JobEvent | None = None
    pause: Queue | None = None
    crew: tuple[Worker, ...] = ()
    owner: Worker | None = None
    ahead: int = 0
    twin: int | None = None

    def serving(self, queue: str) -> list[Worker]:
        """Return those of the crew that claim from ``queue``."""
        return [worker for worker in self.crew if not worker.queues or queue in worker.queues]


def read(job: Job) -> Facts:
    """Read what explains the state of ``job``: at most six queries, each through an index or from a small table."""
    using = job._state.db or router.db_for_write(Job)
    now = clock.read(using)
    match job.state:
        case State.SCHEDULED:
            postponed = _decision(job, [JobEvent.Kind.POSTPONED], using)
            return Facts(now=now, run=_last_run(job, using), crew=_crew(using), decision=postponed)
        case State.PENDING:
            return Facts(now=now, pause=_pause(job, using), crew=_crew(using), ahead=_ahead(job, using))
        case State.RUNNING:
            owner = Worker.objects.using(using).filter(name=job.lease_owner).first()
            return Facts(now=now, owner=owner, crew=_crew(using), decision=_decision(job, STOPS, using))
    run, decision = _last_run(job, using), _decision(job, TURNS, using)
    return Facts(now=now, run=run, decision=decision, twin=_twin(job, using))


def _last_run(job: Job, using: str) -> JobRun | None:
    runs = JobRun.objects.using(using).filter(job_id=job.pk).defer("traceback", "log")
    return runs.order_by("-claim_no").first()


def _decision(job: Job, kinds: Collection[str], using: str) -> JobEvent | None:
    return JobEvent.objects.using(using).filter(job_id=job.pk, kind__in=kinds).order_by("-id").first()


def _pause(job: Job, using: str) -> Queue | None:
    return Queue.objects.using(using).paused().filter(name=job.queue).first()


def _crew(using: str) -> tuple[Worker, ...]:
    return tuple(Worker.objects.using(using).live().filter(draining_at__isnull=True))


def _ahead(job: Job, using: str) -> int:
    """Count the jobs before this one, each part as a range of the index that claims use."""
    jobs = Job.objects.using(using)
    # As the row has it: SQLite compares text, and Python's has more digits.
    run_at = Subquery(jobs.filter(pk=job.pk).values("run_at")[:1])
    queue = jobs.pending().filter(queue=job.queue, losses=0)
    level = queue.filter(priority=job.priority, run_at__lte=run_at)
    parts = (
        queue.filter(priority__gt=job.priority),
        level.filter(Q(run_at__lt=run_at) | Q(run_at=run_at, pk__lt=job.pk)),
    )
    return min(MOST_AHEAD, sum(part.values("pk")[:MOST_AHEAD].count() for part in parts))


def _twin(job: Job, using: str) -> int | None:
    """Return the live job that holds the unique key of this one."""
    if job.unique_key is None:
        return None
    holders = Job.objects.using(using).filter(unique_key=job.unique_key, state__in=LIVE)
    return holders.values_list("pk", flat=True).first()
