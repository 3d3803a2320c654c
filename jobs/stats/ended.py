"""How a job came to its end, and how long it will be kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..conf import settings
from ..models import Job, JobEvent
from ..outcomes import EXPIRED, RunOutcome
from .facts import STOPS, Facts
from .notes import translated_note
from .wording import Sentences, because, named, who


def dead(job: Job, facts: Facts) -> Sentences:
    yield _cause_of_death(job, facts)
    yield _("It waits for somebody to retry it.")
    yield from _deletion(job, facts)


def _cause_of_death(job: Job, facts: Facts) -> str:
    run, decision = facts.run, facts.decision
    if decision is not None and decision.kind == JobEvent.Kind.QUARANTINED:
        return translated_note(job.error)
    if (
        run is None
        or job.unknown_since is not None
        or (run.outcome == RunOutcome.LOST and job.attempt >= job.max_attempts)
    ):
        return translated_note(job.error) or _("Nothing is known of its end.")
    if run.outcome == RunOutcome.DISCARDED:
        return because(
            _("Its handler gave it up in attempt %(attempt)d") % {"attempt": job.attempt}, translated_note(job.error)
        )
    if job.attempt >= job.max_attempts:
        spent = ngettext(
            "Its only attempt failed", "All %(most)d attempts are spent; the last failed", job.max_attempts
        )
        return because(spent % {"most": job.max_attempts}, translated_note(job.error))
    return because(
        _("Attempt %(attempt)d failed in a way that is never retried") % {"attempt": job.attempt},
        translated_note(job.error),
    )


def cancelled(job: Job, facts: Facts) -> Sentences:
    decision = facts.decision
    if job.error == EXPIRED:
        yield _("It had not started when its time to expire came.")
    elif decision is not None and decision.kind in STOPS:
        is_discard = decision.kind == JobEvent.Kind.DISCARDED
        ended = _("%(who)s discarded it at %(time)s") if is_discard else _("%(who)s cancelled it at %(time)s")
        yield because(ended % {"who": who(decision), "time": named(decision.at, facts.now)}, decision.reason)
    else:
        yield because(_("Its own code cancelled it"), translated_note(job.error))
    yield from _deletion(job, facts)


def succeeded(job: Job, facts: Facts) -> Sentences:
    values = {"attempt": job.attempt, "most": job.max_attempts, "time": named(_finished(job), facts.now)}
    yield _("Attempt %(attempt)d of %(most)d succeeded at %(time)s.") % values
    yield from _deletion(job, facts)


def _deletion(job: Job, facts: Facts) -> Sentences:
    kept = settings.retention[job.state]
    if kept is not None:
        after = _finished(job) + timedelta(seconds=kept)
        yield _("It is deleted after %(time)s.") % {"time": named(after, facts.now)}


def _finished(job: Job) -> datetime:
    assert job.finished_at is not None  # noqa: S101 (a check constraint holds it)
    return job.finished_at
