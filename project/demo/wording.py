"""What rows of the database mean, in a sentence each."""

import json
import textwrap
from collections.abc import Callable

from jobs.models import Job, JobEvent, JobRun

from .happenings import Tone

Sentence = tuple[str, Tone]
Label = Callable[[str], str]

Outcome = JobRun.Outcome
Kind = JobEvent.Kind


def of_enqueue(job: Job) -> Sentence:
    details = [f"queue {job.queue}"]
    if job.priority:
        details.append(f"priority {job.priority:+}")
    waits = (job.run_at - job.enqueued_at).total_seconds()
    # Once claimed, the time may be that of a retry.
    if waits > 0 and job.claim_no == 0:
        details.append(f"to run in {waits:.0f} s")
    return f"enqueued ({', '.join(details)})", Tone.FAINT


def of_start(attempt: int, max_attempts: int, worker: str) -> Sentence:
    nth = f", attempt {attempt} of {max_attempts}" if attempt > 1 else ""
    return f"started on {worker}{nth}", Tone.PLAIN


def of_long_run(worker: str, lease_seconds: float) -> Sentence:
    return f"still runs on {worker} after its {lease_seconds:g} s lease: heartbeats renew it", Tone.GOOD


def of_run(run: JobRun, job: Job, label: Label) -> Sentence:
    """
    Say how ``run`` ended, and what comes next where ``job`` still shows that.

    The row of a job tells of its latest claim only, so of an earlier run no
    more is said than its own row says.
    """
    is_latest = run.claim_no == job.claim_no
    match run.outcome:
        case Outcome.SUCCEEDED:
            result = f": {_short(job.result)}" if is_latest and job.result is not None else ""
            return f"succeeded in {_seconds(run):.1f} s{result}", Tone.GOOD
        case Outcome.LOST:
            fate = "; dead, for it was the last attempt" if is_latest and job.state == Job.State.DEAD else ""
            return (
                f"rescued from {label(run.worker)}, which had started it {_seconds(run):.1f} s before{fate}",
                Tone.WARNING,
            )
        case Outcome.SNOOZED:
            return f"snoozed{_next(run, job, 'looks again')}: {run.message or 'no reason given'}", Tone.PLAIN
        case Outcome.RELEASED:
            return f"handed back by {label(run.worker)}", Tone.WARNING
        case Outcome.CANCELLED:
            return f"cancelled after {_seconds(run):.1f} s: the handler obeyed", Tone.WARNING
        case _:
            return _of_failure(run, job)


def _of_failure(run: JobRun, job: Job) -> Sentence:
    why = f"{run.exception_class}: {run.message}"
    if run.claim_no != job.claim_no:
        return f"failed: {why}", Tone.WARNING
    match job.state:
        case Job.State.DEAD if run.outcome == Outcome.DISCARDED:
            return f"dead at once, discarded by its handler: {run.message}", Tone.BAD
        case Job.State.DEAD:
            return f"dead after {run.attempt} of {job.max_attempts} attempts: {why}", Tone.BAD
        case Job.State.CANCELLED:
            return f"failed, and is cancelled as was asked: {why}", Tone.WARNING
        case _:
            return f"failed{_next(run, job, 'retry')}: {why}", Tone.WARNING


def of_event(event: JobEvent) -> Sentence:
    who = event.actor_label or "the system"
    why = f": {event.reason}" if event.reason else ""
    match event.kind:
        case Kind.CANCEL_REQUESTED:
            return f"{who} asks it to stop{why}", Tone.WARNING
        case Kind.QUARANTINED:
            return f"quarantined{why}", Tone.BAD
        case _:
            return f"{event.get_kind_display().lower()} by {who}{why}", Tone.WARNING


def _short(result: object) -> str:
    return textwrap.shorten(json.dumps(result).strip('"'), 70)


def _seconds(run: JobRun) -> float:
    return (run.finished_at - (run.started_at or run.finished_at)).total_seconds()


def _next(run: JobRun, job: Job, what: str) -> str:
    if run.claim_no != job.claim_no or job.state not in {Job.State.SCHEDULED, Job.State.PENDING}:
        return ""
    return f", {what} in {max(0.0, (job.run_at - run.finished_at).total_seconds()):.1f} s"
