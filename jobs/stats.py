"""What people are shown: every read that the admin and the command line share. Nothing here changes a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, TextChoices
from django.db.models.functions import Left
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from . import clock
from .models import Job, JobEvent, JobRun, Queue
from .models.queryset import JobQuerySet
from .outcomes import RunOutcome
from .states import LIVE, State

# What no index serves is looked for among this many of the newest jobs.
WINDOW = 100_000
MOST_FOUND = 1_000
NEWEST_RUNS = 20
NEWEST_EVENTS = 50
MESSAGE_CHARS = 2_000


class ShownState(TextChoices):
    """The states as people see them: a scheduled job that has been tried before is backing off."""

    SCHEDULED = "scheduled", State.SCHEDULED.label
    BACKING_OFF = "backing_off", gettext_lazy("Backing off")
    PENDING = "pending", State.PENDING.label
    RUNNING = "running", State.RUNNING.label
    SUCCEEDED = "succeeded", State.SUCCEEDED.label
    DEAD = "dead", State.DEAD.label
    CANCELLED = "cancelled", State.CANCELLED.label

    @property
    def stored(self) -> State:
        return State.SCHEDULED if self is ShownState.BACKING_OFF else State(self.value)

    @property
    def order(self) -> tuple[str, ...]:
        """The order in which a list of these is of most use, and in which an index has them."""
        if self.stored is State.SCHEDULED:
            return ("run_at", "pk")
        return ("-finished_at", "-pk") if self.stored.is_final else ("-pk",)


class Badge(TextChoices):
    """What is worth knowing about a job beside its state."""

    HELD = "held", gettext_lazy("held")
    LEASE_EXPIRED = "lease_expired", gettext_lazy("lease expired")
    CANCELLING = "cancelling", gettext_lazy("cancelling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line in the history of a job. ``tone`` is "good", "bad" or ""; ``took`` is how long a run lasted."""

    at: datetime
    title: str
    tone: str = ""
    who: str = ""
    took: timedelta | None = None
    text: str = ""
    traceback: str = ""
    log: str = ""


def with_signs(jobs: JobQuerySet) -> JobQuerySet:
    """Add ``is_held`` and ``is_lease_expired``, by the database's clock, for ``badges``."""
    paused = Queue.objects.paused().filter(name=OuterRef("queue"))
    return jobs.annotate(
        is_held=ExpressionWrapper(Q(state=State.PENDING) & Exists(paused), output_field=BooleanField()),
        is_lease_expired=ExpressionWrapper(
            Q(state=State.RUNNING, lease_expires_at__lt=clock.now()), output_field=BooleanField()
        ),
    )


def badges(job: Any) -> list[Badge]:
    """Return what to show beside the state of a job that came through ``with_signs``."""
    worn = {
        Badge.HELD: job.is_held,
        Badge.LEASE_EXPIRED: job.is_lease_expired,
        Badge.CANCELLING: job.cancel_requested_at is not None,
    }
    return [badge for badge, is_worn in worn.items() if is_worn]


def shown_state(job: Job) -> ShownState:
    if job.state == State.SCHEDULED and job.attempt > 0:
        return ShownState.BACKING_OFF
    return ShownState(job.state)


def in_shown_state(jobs: JobQuerySet, shown: ShownState) -> JobQuerySet:
    """Filter by what ``shown_state`` returns, in terms that the partial indexes are known by."""
    if shown.stored.is_final:
        return jobs.filter(state=shown.stored, finished_at__isnull=False)
    if shown is ShownState.PENDING:
        # All of them, said so that both the index of those with losses and that of those without may serve.
        return jobs.pending().filter(Q(losses=0) | Q(losses__gt=0))
    if shown is ShownState.RUNNING:
        return jobs.running()
    tried = Q(attempt__gt=0)
    return jobs.scheduled().filter(tried if shown is ShownState.BACKING_OFF else ~tried)


def newest(jobs: JobQuerySet) -> JobQuerySet:
    """Filter to the newest ``WINDOW`` jobs of the table, so that what no index serves stays quick."""
    last = Job.objects.using(jobs.db).order_by("-pk").values_list("pk", flat=True).first() or 0
    return jobs.filter(pk__gt=last - WINDOW)


def found(jobs: JobQuerySet, term: str) -> JobQuerySet:
    """Filter to the job with this id, and those that hold or, among the newest, held this unique key."""
    everywhere = Job.objects.using(jobs.db)
    job_id = as_id(term)
    keyed = everywhere.filter(unique_key=term)
    # Asked for one by one, since no plan for the three together uses all their indexes.
    sources = (
        everywhere.filter(pk__in=[] if job_id is None else [job_id]),
        keyed.filter(state__in=LIVE),
        newest(keyed)[:MOST_FOUND],
    )
    return jobs.filter(pk__in={pk for source in sources for pk in source.values_list("pk", flat=True)})


def as_id(text: str) -> int | None:
    """Return the id that a person typed, as ``12`` or ``#12``, or None."""
    digits = text.strip().removeprefix("#")
    return int(digits) if digits.isdecimal() and len(digits) <= 18 else None


def timeline(job: Job) -> list[Moment]:
    """Return what has happened to ``job``, oldest first: the newest runs and decisions, and what is to come."""
    moments = [_enqueued(job), *_runs(job), *_events(job), *_present(job)]
    return sorted(moments, key=lambda moment: moment.at)


def _enqueued(job: Job) -> Moment:
    return Moment(at=job.enqueued_at, title=_("Enqueued"))


def _runs(job: Job) -> Iterator[Moment]:
    runs = JobRun.objects.using(job._state.db).filter(job_id=job.pk).defer("message")
    for run in runs.annotate(summary=Left("message", MESSAGE_CHARS)).order_by("-claim_no")[:NEWEST_RUNS]:
        yield Moment(
            at=run.finished_at,
            title=_("Attempt %(number)d: %(outcome)s") % {"number": run.attempt, "outcome": run.get_outcome_display()},
            tone=_TONES.get(run.outcome, ""),
            who=run.worker,
            took=duration(run),
            text=": ".join(part for part in (run.exception_class, run.summary) if part),
            traceback=run.traceback,
            log=run.log,
        )


_TONES: dict[str, str] = {
    RunOutcome.SUCCEEDED: "good",
    RunOutcome.FAILED: "bad",
    RunOutcome.LOST: "bad",
    RunOutcome.TIMED_OUT: "bad",
    RunOutcome.DISCARDED: "bad",
}


def duration(run: JobRun) -> timedelta | None:
    """Return how long a run lasted, None where it was never seen to start."""
    return None if run.started_at is None else max(run.finished_at - run.started_at, timedelta(0))


def _events(job: Job) -> Iterator[Moment]:
    for event in JobEvent.objects.using(job._state.db).filter(job_id=job.pk).order_by("-id")[:NEWEST_EVENTS]:
        yield Moment(at=event.at, title=event.get_kind_display(), who=event.actor_label, text=event.reason)


def _present(job: Job) -> Iterator[Moment]:
    if job.state == State.RUNNING and job.started_at is not None:
        title = _("Attempt %(number)d: running") % {"number": job.attempt}
        yield Moment(at=job.started_at, title=title, who=job.lease_owner)
    elif job.state == State.SCHEDULED:
        yield Moment(at=job.run_at, title=_("Attempt %(number)d is due") % {"number": job.attempt + 1})
