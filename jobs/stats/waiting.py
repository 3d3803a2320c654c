"""Why a job that waits has not started."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .. import clock
from ..conf import settings
from ..models import Job, JobEvent, Worker
from ..numerals import grouped
from ..outcomes import RunOutcome
from .facts import MOST_AHEAD, Facts
from .notes import translated_note
from .wording import Sentences, because, between, named, nobody, who


def scheduled(job: Job, facts: Facts) -> Sentences:
    if job.unknown_since is not None:
        yield _no_handler_yet(job, job.unknown_since, facts)
    elif facts.run is not None and (job.attempt or facts.run.outcome == RunOutcome.SNOOZED):
        yield _after_run(job, facts.run)
    if facts.decision is not None and _is_in_force(job, facts.decision):
        yield because(_("%(who)s postponed it") % {"who": who(facts.decision)}, facts.decision.reason)
    if job.run_at > facts.now:
        yield _("Attempt %(next)d of %(most)d is due at %(time)s, in %(wait)s.") % {
            "next": job.attempt + 1,
            "most": job.max_attempts,
            "time": named(job.run_at, facts.now),
            "wait": between(facts.now, job.run_at),
        }
    elif facts.crew:
        yield _("It came due at %(time)s, and becomes pending in a moment.") % {"time": named(job.run_at, facts.now)}
    else:
        yield _("It came due at %(time)s.") % {"time": named(job.run_at, facts.now)}
        yield nobody()


def _is_in_force(job: Job, postponed: JobEvent) -> bool:
    """Say whether the job still waits for the time that somebody gave it, and not for a later backoff."""
    return clock.aware(datetime.fromisoformat(postponed.changes["run_at"][1])) == clock.aware(job.run_at)


def _after_run(job: Job, run: Any) -> str:
    if run.outcome == RunOutcome.SNOOZED:
        return because(_("Its handler put it off"), run.message)
    if run.outcome == RunOutcome.TIMED_OUT:
        return _("Attempt %(attempt)d used up its timeout.") % {"attempt": job.attempt}
    return because(_("Attempt %(attempt)d failed") % {"attempt": job.attempt}, translated_note(job.error))


def _no_handler_yet(job: Job, since: datetime, facts: Facts) -> str:
    last = since + timedelta(seconds=settings.unknown_kind_grace_seconds)
    return _(
        "No worker that met it since %(since)s knows the kind %(kind)s: it is offered again, and goes to dead after %(last)s."
    ) % {"since": named(since, facts.now), "kind": job.kind, "last": named(last, facts.now)}


def pending(job: Job, facts: Facts) -> Sentences:
    serving = facts.serving(job.queue)
    able = [worker for worker in serving if job.kind in worker.kinds]
    if facts.pause is not None:
        yield from _held(facts)
    if not facts.crew:
        yield nobody()
    elif not serving:
        yield _("No live worker serves the queue %(queue)s.") % {"queue": job.queue}
    elif not able:
        yield _("No live worker of the queue %(queue)s knows the kind %(kind)s.") % {
            "queue": job.queue,
            "kind": job.kind,
        }
    elif facts.pause is None:
        yield from _waiting(job, facts, able)


def _held(facts: Facts) -> Sentences:
    pause: Any = facts.pause
    paused = _("Held: %(who)s paused the queue %(queue)s at %(time)s") % {
        "who": pause.paused_by or _("the system"),
        "queue": pause.name,
        "time": named(pause.paused_at, facts.now),
    }
    yield because(paused, pause.pause_reason)
    if pause.resume_at is None:
        yield _("It waits until somebody resumes the queue.")
    else:
        yield _("The queue resumes by itself at %(time)s, in %(wait)s.") % {
            "time": named(pause.resume_at, facts.now),
            "wait": between(facts.now, pause.resume_at),
        }


def _waiting(job: Job, facts: Facts, able: list[Worker]) -> Sentences:
    if job.losses:
        yield ngettext(
            "%(losses)d worker died while running it, so it waits until one has nothing else to do.",
            "%(losses)d workers died while running it, so it waits until one has nothing else to do.",
            job.losses,
        ) % {"losses": job.losses}
        return
    if facts.ahead >= MOST_AHEAD:
        yield _("More than %(count)s jobs of its queue come first.") % {"count": grouped(MOST_AHEAD)}
    elif facts.ahead:
        yield ngettext(
            "%(count)d job of its queue comes first.", "%(count)d jobs of its queue come first.", facts.ahead
        ) % {"count": facts.ahead}
    slots = sum(worker.concurrency for worker in able)
    if sum(worker.running for worker in able) >= slots:
        yield ngettext(
            "The only slot that could run it is busy.", "All %(slots)d slots that could run it are busy.", slots
        ) % {"slots": slots}
    elif not facts.ahead:
        yield _("It is next: a worker takes it in a moment.")
