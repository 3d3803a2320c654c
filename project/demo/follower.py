"""Finding out what happened since the last look, from the rows that workers and people leave behind."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, models
from django.db.models import Max

from jobs import clock
from jobs.conf import settings
from jobs.models import Job, JobEvent, JobRun

from . import wording
from .happenings import Happening

# A row may become visible a moment after the time it bears, and after a row
# with a higher id. So nothing younger than this is told, and ids are looked at
# twice. Nor is a claim of this age likely to be handed back before its job starts.
SETTLING = timedelta(seconds=0.3)
OVERLAP = 500


class NewRows:
    """The rows of one table that have not been seen before."""

    def __init__(self, model: type[models.Model]) -> None:
        self._rows: Any = model._default_manager.order_by("pk")
        self._highest = self._rows.aggregate(highest=Max("pk"))["highest"] or 0
        self._first = self._highest + 1
        self._seen: set[int] = set()

    def read(self) -> list[Any]:
        lowest = max(self._first, self._highest - OVERLAP)
        rows = list(self._rows.filter(pk__gte=lowest))
        fresh = [row for row in rows if row.pk not in self._seen]
        self._seen = {row.pk for row in rows}
        self._highest = max([self._highest, *self._seen])
        return fresh


class Follower:
    """
    Tells what happens to all jobs from the moment it is made.

    ``label`` turns a worker's name into what people call it.
    """

    def __init__(self, label: Callable[[str], str]) -> None:
        self._label = label
        self._since = clock.read(DEFAULT_DB_ALIAS)
        self._jobs = NewRows(Job)
        self._runs = NewRows(JobRun)
        self._events = NewRows(JobEvent)
        self._started: set[tuple[int, int]] = set()
        self._long: set[tuple[int, int]] = set()
        self._waiting: list[Happening] = []

    def add(self, happening: Happening) -> None:
        """Tell of this too, in its place."""
        self._waiting.append(happening)

    def read(self, now: datetime) -> list[Happening]:
        """Look, and return in order what has been ripe by ``now``, the database's time."""
        self._waiting += self._news(now)
        # The sort is stable: of two things at the same instant, the one found first comes first.
        self._waiting.sort(key=lambda one: one.at)
        ripe = [one for one in self._waiting if one.at <= now - SETTLING]
        self._waiting = self._waiting[len(ripe) :]
        return ripe

    def _news(self, now: datetime) -> Iterator[Happening]:
        # Runs before jobs: the row of a job is then never older than its runs.
        runs, events = self._runs.read(), self._events.read()
        new = self._jobs.read()
        jobs = {job.pk: job for job in new} | Job.objects.in_bulk([row.job_id for row in [*runs, *events]])
        for job in new:
            yield _happening(job.enqueued_at, job, wording.of_enqueue(job))
        yield from self._of_running(
            Job.objects.running().filter(started_at__range=(self._since, now - SETTLING)).order_by("pk"), now
        )
        yield from self._of_runs(runs, jobs)
        for event in events:
            yield self._of_event(event, jobs.get(event.job_id))

    def _of_event(self, event: JobEvent, job: Job | None) -> Happening:
        text, tone = wording.of_event(event)
        subject = subject_of(job) if job else f"queue {event.queue}" if event.queue else self._label(event.worker)
        return Happening(at=event.at, subject=subject, text=text, tone=tone)

    def _of_running(self, jobs: Iterable[Any], now: datetime) -> Iterator[Happening]:
        lease = timedelta(seconds=settings.lease_seconds)
        for job in jobs:
            yield from self._start(job, job.claim_no, job.attempt, job.started_at, job.lease_owner)
            outlived = job.started_at + lease
            if outlived < now < job.lease_expires_at and (job.pk, job.claim_no) not in self._long:
                self._long.add((job.pk, job.claim_no))
                yield _happening(
                    outlived, job, wording.of_long_run(self._label(job.lease_owner), settings.lease_seconds)
                )

    def _of_runs(self, runs: Iterable[JobRun], jobs: dict[int, Job]) -> Iterator[Happening]:
        for run in runs:
            job = jobs.get(run.job_id)
            if job is None:
                continue
            yield from self._start(job, run.claim_no, run.attempt, run.started_at, run.worker)
            yield _happening(run.finished_at, job, wording.of_run(run, job, self._label))

    def _start(self, job: Job, claim_no: int, attempt: int, at: Any, worker: str) -> Iterator[Happening]:
        if at is None or at < self._since or (job.pk, claim_no) in self._started:
            return
        self._started.add((job.pk, claim_no))
        yield _happening(at, job, wording.of_start(attempt, job.max_attempts, self._label(worker)))


def subject_of(job: Job) -> str:
    return f"{f'#{job.pk}':4} {job.kind}"


def _happening(at: datetime, job: Job, sentence: wording.Sentence) -> Happening:
    text, tone = sentence
    return Happening(at=at, subject=subject_of(job), text=text, tone=tone)
