"""Why a job is in its state, and what happens next: a sentence for each cause, over facts that were read before."""

from __future__ import annotations

from django.utils.translation import gettext as _

from ..models import Job
from ..states import LIVE, State
from . import ended, facts, underway, waiting
from .facts import Facts
from .wording import Sentences, named


def explain(job: Job) -> str:
    """Return, in a few sentences, why ``job`` is in the state that this instance has, and what happens next."""
    return " ".join(sentences(job, facts.read(job)))


def sentences(job: Job, known: Facts) -> Sentences:
    """Yield a sentence for each cause, the weightiest first."""
    yield from _BY_STATE[State(job.state)](job, known)
    yield from _limits(job, known)


_BY_STATE = {
    State.SCHEDULED: waiting.scheduled,
    State.PENDING: waiting.pending,
    State.RUNNING: underway.running,
    State.SUCCEEDED: ended.succeeded,
    State.DEAD: ended.dead,
    State.CANCELLED: ended.cancelled,
}


def _limits(job: Job, known: Facts) -> Sentences:
    if job.expires_at is not None and job.state in (State.SCHEDULED, State.PENDING):
        yield _("If it has not started by %(time)s, it is cancelled.") % {"time": named(job.expires_at, known.now)}
    if job.unique_key is not None and job.state in LIVE:
        yield _("No other job can be enqueued under its unique key while it lives.")
    if known.twin is not None and job.state != State.SUCCEEDED:
        yield _("It cannot be retried while job #%(twin)d holds its unique key.") % {"twin": known.twin}
