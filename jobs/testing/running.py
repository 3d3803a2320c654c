"""Running one claimed job as a worker's slot would, in the caller's thread and transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from django.db import transaction

from .. import leases, registry, signals
from ..conf import settings
from ..exceptions import JobsError, LeaseLost, Retry, UnknownKind, Verb
from ..leases import Answer, Beat, Claimed
from ..outcomes import Failed, Outcome, RunOutcome, Succeeded, Unclaimable
from ..registry import JobDefinition
from ..runtime import execution
from ..runtime.calling import call
from ..runtime.executor import context_of
from ..runtime.holdings import Held
from ..runtime.settler import ended
from .commits import as_if_committed


@dataclass(frozen=True, slots=True)
class Ran:
    """
    One run that ``run_jobs`` made.

    ``outcome`` is None where nobody here handles the kind, so that the job
    was put off. ``error`` is what went wrong, None if nothing did.
    """

    job_id: int
    kind: str
    outcome: RunOutcome | None
    error: BaseException | None = None


def run(claimed: Claimed, *, using: str) -> Ran:
    """Run ``claimed``, settle it, and say how it went; raises nothing of the handler's."""
    definition = registry.find(claimed.kind)
    if definition is None:
        return _put_off(claimed, using=using)
    slot = _Slot(claimed, definition, using=using)
    signals.run_started.send_robust(claimed.kind, context=slot.context)
    error = slot.run_atomic() if definition.options.atomic else slot.run_plain()
    return Ran(claimed.job_id, claimed.kind, slot.outcome, error)


def _put_off(claimed: Claimed, *, using: str) -> Ran:
    _settle(_held(claimed), Unclaimable(kind=claimed.kind, given_up=False), using=using)
    message = f"Job #{claimed.job_id} is of kind {claimed.kind!r}, which no handler is registered for."
    error = None if settings.allow_unknown_kinds else UnknownKind(message)
    return Ran(claimed.job_id, claimed.kind, None, error)


def _held(claimed: Claimed) -> Held:
    return Held(claimed, claimed_at=time.monotonic(), lease_seconds=settings.lease_seconds)


class _Slot:
    """The run of one job."""

    def __init__(self, claimed: Claimed, definition: JobDefinition[..., Any], *, using: str) -> None:
        self._definition = definition
        self._using = using
        self._held = _held(claimed)
        self.context = self._held.context = context_of(self._held)
        self._held.started = time.monotonic()
        self._raised: BaseException | None = None
        self.outcome: RunOutcome | None = None

    def run_plain(self) -> BaseException | None:
        """Run the handler with its on_commit callbacks, settle the outcome, and return what went wrong."""
        outcome = self._called(as_if_committed()(self._handler))
        self._settle(outcome)
        return self._wrong(outcome)

    def run_atomic(self) -> BaseException | None:
        """Run the handler and settle its success in one savepoint, then run the callbacks, and return what went wrong."""
        outcomes: list[Outcome] = []
        whole = call(as_if_committed()(lambda: outcomes.append(self._in_one_transaction())))
        if outcomes and isinstance(outcomes[0], Succeeded):
            # A callback that fails comes too late to change the outcome.
            return whole.error
        if whole.error is not None:
            self._raised = whole.error
            outcomes = [execution.outcome_of(whole.error, self._definition, self.context)]
        self._settle(outcomes[0])
        return self._wrong(outcomes[0])

    def _in_one_transaction(self) -> Outcome:
        with transaction.atomic(using=self._using):
            outcome = self._called(self._handler)
            if isinstance(outcome, Succeeded):
                self._settle(outcome)
            else:
                transaction.set_rollback(True, using=self._using)
        return outcome

    def _called(self, body: Callable[[], Any]) -> Outcome:
        """Call ``body`` as a worker does, and keep what it raised, which the outcome only describes."""

        def remembering() -> Any:
            remembered = call(body)
            self._raised = remembered.error
            if remembered.error is not None:
                raise remembered.error
            return remembered.value

        return execution.run(self._definition, remembering, self.context)

    def _handler(self) -> Any:
        function, claimed = self._definition.function, self._held.claimed
        first = [self.context] if self._definition.options.takes_context else []
        if self._definition.is_async:
            function = async_to_sync(function)
        return function(*first, *claimed.args, **claimed.payload)

    def _settle(self, outcome: Outcome) -> None:
        self._report_progress()
        self.outcome = _settle(self._held, outcome, using=self._using)

    def _report_progress(self) -> None:
        progress, _ = self.context.snapshot()
        if progress is not None:
            beat = Beat(lease=self._held.lease, progress=progress)
            leases.renew([beat], lease_seconds=settings.lease_seconds, using=self._using)

    def _wrong(self, outcome: Outcome) -> BaseException | None:
        """Return the error that a test should hear of: none where the handler said how to end."""
        if not isinstance(outcome, Failed) or isinstance(self._raised, Retry):
            return None
        if self._raised is None or isinstance(self._raised, Verb):
            return JobsError(outcome.failure.summary)
        return self._raised


def _settle(held: Held, outcome: Outcome, *, using: str) -> RunOutcome | None:
    one = ended(held, outcome)
    answer = leases.settle([one.settlement()], using=using)[held.lease]
    if answer is not Answer.DONE:
        raise LeaseLost(
            f"Job #{held.lease.job_id} was taken away while its handler ran, so its outcome was not stored."
        )
    signals.run_finished.send_robust(
        held.claimed.kind, job_id=held.lease.job_id, claim_no=held.lease.claim_no, verdict=one.verdict
    )
    return one.verdict.run
