"""What can happen to a run, and what to do about it: ``decide`` is pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from . import states
from .retry import Backoff
from .states import Move
from .translating import gettext_noop


class RunOutcome(TextChoices):
    """How one attempt ended, as its ``JobRun`` says."""

    SUCCEEDED = "succeeded", _("Succeeded")
    FAILED = "failed", _("Failed")
    SNOOZED = "snoozed", _("Snoozed")
    RELEASED = "released", _("Released")
    LOST = "lost", _("Lost")
    TIMED_OUT = "timed_out", _("Timed out")
    CANCELLED = "cancelled", _("Cancelled")
    DISCARDED = "discarded", _("Discarded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception as text that the database can store, whatever it was."""

    exception_class: str
    message: str
    traceback: str = ""

    @property
    def summary(self) -> str:
        """One line of at most 500 characters."""
        text = f"{self.exception_class}: {self.message}" if self.message else self.exception_class
        return " ".join(text.split())[:500]


@dataclass(frozen=True, slots=True)
class Succeeded:
    result: str | None  # JSON text


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    failure: Failure
    delay: float | None = None  # seconds; None takes the job's backoff
    least_delay: float = 0.0
    is_hopeless: bool = False
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Snoozed:
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Discarded:
    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """Cancelled while it ran: by its own code, or by a person and the handler obeyed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Expired:
    """Its ``expires_at`` passed before it could start."""


@dataclass(frozen=True, slots=True)
class Unwanted:
    """Its slot came, but its schedule was disabled or deleted before it could start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Handed back by a worker that does not want to, or can no longer, run it; to be run after ``delay`` seconds."""

    started: bool
    delay: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimable:
    """This worker has no handler for the kind; ``given_up`` when the grace is over and no live worker lists it."""

    kind: str
    given_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """
    The lease expired. ``deaths`` counts the losses of this job, this one
    included, whose worker was never heard of again; at ``quarantine_losses`` of
    them the job is taken out.
    """

    started: bool
    worker: str
    last_heard: str
    deaths: int
    quarantine_losses: int
    worker_is_alive: bool


Outcome = Succeeded | Failed | Snoozed | Discarded | Stopped | Expired | Unwanted | Released | Unclaimable | Lost


class Facts(Protocol):
    """What ``decide`` needs to know of a job: a ``Job`` or what its worker was given."""

    @property
    def attempt(self) -> int: ...
    @property
    def max_attempts(self) -> int: ...
    @property
    def backoff(self) -> Backoff: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What leaving ``running`` writes. ``None`` leaves a column as it is.

    ``delay`` is seconds from the database's now to the next ``run_at``;
    ``refund`` hands the attempt back; ``run`` None writes no JobRun.
    """

    move: Move
    run: RunOutcome | None
    failure: Failure | None = None
    delay: float | None = None
    refund: bool = False
    result: str | None = None
    error: str | None = None
    losses: int | None = None
    stranded: bool = False
    unknown: bool = False
    is_quarantine: bool = False


def decide(outcome: Outcome, facts: Facts, *, chance: float | None = None) -> Verdict:  # noqa: C901 (a table)
    """Return what to do about ``outcome``; ``chance`` (0 to 1) fixes the jitter, random by default."""
    match outcome:
        case Succeeded(None):
            return PLAIN_SUCCESS
        case Succeeded(result):
            return Verdict(move=states.SUCCEED, run=RunOutcome.SUCCEEDED, result=result, error="")
        case Failed():
            return _after_failure(outcome, facts, random.random() if chance is None else chance)  # noqa: S311
        case Snoozed(seconds, reason):
            note = Failure(exception_class="", message=reason) if reason else None
            return Verdict(move=states.SNOOZE, run=RunOutcome.SNOOZED, delay=seconds, refund=True, failure=note)
        case Discarded(reason):
            note = Failure(exception_class="Discard", message=reason)
            return Verdict(move=states.DIE, run=RunOutcome.DISCARDED, failure=note, error=reason)
        case Stopped(reason):
            note = Failure(exception_class="Cancel", message=reason)
            return Verdict(move=states.STOP, run=RunOutcome.CANCELLED, failure=note, error=reason)
        case Expired():
            return Verdict(move=states.STOP, run=None, refund=True, error=EXPIRED)
        case Unwanted():
            return Verdict(move=states.STOP, run=None, refund=True, error=UNWANTED)
        case Released(started=started, delay=delay):
            return released(started=started, delay=delay)
        case Unclaimable(kind=kind, given_up=given_up):
            return _without_handler(kind, given_up=given_up)
        case Lost():  # pragma: no branch (there is no other outcome)
            return _after_loss(outcome, facts)


def released(*, started: bool, delay: float = 0.0) -> Verdict:
    """Return the verdict of handing a job back: the attempt is refunded, and only what had started leaves a run."""
    run = RunOutcome.RELEASED if started else None
    if delay:
        return Verdict(move=states.SNOOZE, run=run, refund=True, delay=delay)
    return Verdict(move=states.RELEASE, run=run, refund=True)


# Made once: most verdicts of most sites are this one.
PLAIN_SUCCESS = Verdict(move=states.SUCCEED, run=RunOutcome.SUCCEEDED, error="")
# What the engine writes down itself is stored in English, and ``stats.notes`` translates it for whoever reads it.
EXPIRED = gettext_noop("Expired before it could start.")
CANCELLED = gettext_noop("Cancelled.")
UNWANTED = gettext_noop("Its schedule was disabled or deleted before it could start.")
NO_HANDLER = gettext_noop("No handler for kind %(kind)s in any live worker.")
SILENT = gettext_noop("Worker %(worker)s lost the lease; it was silent, later alive (last heartbeat %(heard)s).")
UNHEARD = gettext_noop("Worker %(worker)s lost the lease; it has not been heard of since (last heartbeat %(heard)s).")
QUARANTINED = gettext_noop("Quarantined: %(deaths)s workers died while running it, the last one %(worker)s.")
LAST_LEASE = gettext_noop("Lease expired on the last attempt (%(worker)s).")
NOTES = (EXPIRED, CANCELLED, UNWANTED, NO_HANDLER, SILENT, UNHEARD, QUARANTINED, LAST_LEASE)
UNKNOWN_KIND_PAUSE = 10.0


def _after_failure(outcome: Failed, facts: Facts, chance: float) -> Verdict:
    failure = outcome.failure
    run = RunOutcome.TIMED_OUT if outcome.timed_out else RunOutcome.FAILED
    if outcome.is_hopeless or facts.attempt >= facts.max_attempts:
        return Verdict(move=states.DIE, run=run, failure=failure, error=failure.summary)
    delay = facts.backoff.delay(facts.attempt, chance=chance) if outcome.delay is None else outcome.delay
    delay = max(delay, outcome.least_delay)
    return Verdict(move=states.BACK_OFF, run=run, failure=failure, error=failure.summary, delay=delay)


def _without_handler(kind: str, *, given_up: bool) -> Verdict:
    error = NO_HANDLER % {"kind": repr(kind)}
    if given_up:
        return Verdict(move=states.DIE, run=None, error=error, refund=True)
    return Verdict(move=states.SNOOZE, run=None, error=error, refund=True, delay=UNKNOWN_KIND_PAUSE, unknown=True)


def _after_loss(outcome: Lost, facts: Facts) -> Verdict:
    if not outcome.started:
        return Verdict(move=states.RESCUE, run=None, refund=True, stranded=True)
    told = SILENT if outcome.worker_is_alive else UNHEARD
    text = told % {"worker": outcome.worker, "heard": outcome.last_heard}
    failure = Failure(exception_class="LeaseExpired", message=text)
    if outcome.deaths >= outcome.quarantine_losses:
        error = QUARANTINED % {"deaths": outcome.deaths, "worker": outcome.worker}
        return Verdict(
            move=states.DIE,
            run=RunOutcome.LOST,
            failure=failure,
            error=error,
            losses=outcome.deaths,
            is_quarantine=True,
        )
    if facts.attempt >= facts.max_attempts:
        error = LAST_LEASE % {"worker": outcome.worker}
        return Verdict(move=states.DIE, run=RunOutcome.LOST, failure=failure, error=error, losses=outcome.deaths)
    return Verdict(move=states.RESCUE, run=RunOutcome.LOST, failure=failure, error=text, losses=outcome.deaths)
