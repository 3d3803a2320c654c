"""What has happened to one job, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from ..models import Job, JobEvent, JobRun
from ..outcomes import RunOutcome
from ..states import State
from .excerpts import EMPTY, Excerpt, excerpt, with_beginnings, with_ends
from .notes import translated_note
from .wording import described

NEWEST_RUNS = 20
NEWEST_EVENTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """
    One line in the history of a job.

    ``tone`` is "good", "bad" or "". ``waited`` is how long a run began after
    it was due, ``took`` how long it lasted.
    """

    at: datetime
    title: str
    tone: str = ""
    who: str = ""
    waited: timedelta | None = None
    took: timedelta | None = None
    text: str = ""
    traceback: Excerpt = EMPTY
    log: Excerpt = EMPTY


def timeline(job: Job) -> list[Moment]:
    """Return what has happened to ``job``, oldest first: the newest runs and decisions, and what is to come."""
    moments = [_enqueued(job), *_runs(job), *_events(job), *_present(job)]
    return sorted(moments, key=lambda moment: moment.at)


def _enqueued(job: Job) -> Moment:
    return Moment(at=job.enqueued_at, title=_("Enqueued"))


def texts_of_run(run: JobRun) -> dict[str, Excerpt]:
    """Return of the large texts of a run as much as a person reads (one query)."""
    row = _with_texts(JobRun.objects.using(run._state.db).filter(pk=run.pk).only("pk")).first()
    return {name: EMPTY if row is None else excerpt(row, name) for name in ("message", "traceback", "log")}


def _with_texts(runs: QuerySet[JobRun]) -> QuerySet[JobRun]:
    return with_ends(with_beginnings(runs, "message"), "traceback", "log")


def _runs(job: Job) -> Iterator[Moment]:
    runs = _with_texts(JobRun.objects.using(job._state.db).filter(job_id=job.pk))
    for run in runs.order_by("-claim_no")[:NEWEST_RUNS]:
        yield Moment(
            at=run.finished_at,
            title=_("Attempt %(number)d: %(outcome)s") % {"number": run.attempt, "outcome": run.get_outcome_display()},
            tone=tone(run),
            who=run.worker,
            waited=waited(run),
            took=duration(run),
            text=": ".join(
                part for part in (run.exception_class, translated_note(excerpt(run, "message").text)) if part
            ),
            traceback=excerpt(run, "traceback"),
            log=excerpt(run, "log"),
        )


_TONES: dict[str, str] = {
    RunOutcome.SUCCEEDED: "good",
    RunOutcome.FAILED: "bad",
    RunOutcome.LOST: "bad",
    RunOutcome.TIMED_OUT: "bad",
    RunOutcome.DISCARDED: "bad",
}


def tone(run: JobRun) -> str:
    """Return whether a run ended well: "good", "bad" or ""."""
    return _TONES.get(run.outcome, "")


def waited(run: JobRun) -> timedelta | None:
    """Return how long after it was due a run began, None where it was never seen to start."""
    return None if run.started_at is None else max(run.started_at - run.due_at, timedelta(0))


def duration(run: JobRun) -> timedelta | None:
    """Return how long a run lasted, None where it was never seen to start."""
    return None if run.started_at is None else max(run.finished_at - run.started_at, timedelta(0))


def _events(job: Job) -> Iterator[Moment]:
    for event in JobEvent.objects.using(job._state.db).filter(job_id=job.pk).order_by("-id")[:NEWEST_EVENTS]:
        text = "\n".join([*described(event.changes), event.reason]).strip()
        yield Moment(at=event.at, title=event.get_kind_display(), who=event.actor_label, text=text)


def _present(job: Job) -> Iterator[Moment]:
    if job.state == State.RUNNING and job.started_at is not None:
        title = _("Attempt %(number)d: running") % {"number": job.attempt}
        waited_for = max(job.started_at - job.run_at, timedelta(0))
        yield Moment(at=job.started_at, title=title, who=job.lease_owner, waited=waited_for, log=_present_log(job))
    elif job.state == State.SCHEDULED:
        yield Moment(at=job.run_at, title=_("Attempt %(number)d is due") % {"number": job.attempt + 1})


def _present_log(job: Job) -> Excerpt:
    row = with_ends(Job.objects.using(job._state.db).filter(pk=job.pk).only("pk"), "log").first()
    return EMPTY if row is None else excerpt(row, "log")
