"""Handlers whose database work and settlement commit together, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.db import Error, connections, transaction

from .. import leases, sql
from ..context import JobContext
from ..exceptions import JobsError, LeaseLost
from ..leases import Answer, Settlement
from ..outcomes import Outcome, Succeeded, decide
from ..registry import JobDefinition
from . import execution
from .calling import call
from .holdings import Held
from .logs import log_of

logger = log_of(__name__)

BUSY_TURNS = 20


class AlreadySettled(Succeeded):
    """The run succeeded and its own transaction has written that down."""


def run(
    held: Held, definition: JobDefinition[..., Any], body: Callable[[], Any], context: JobContext, *, using: str
) -> Outcome:
    """
    Call the handler and settle its success as the last statement of one transaction.

    A failure rolls back and is settled outside. So is a COMMIT that failed;
    an exception from an on_commit hook, which comes after COMMIT, changes nothing.
    """
    ends: list[Outcome] = []

    def whole() -> None:
        with transaction.atomic(using=using, durable=True):
            # Whatever the site uses: the heartbeat changes the row meanwhile, which a
            # stricter snapshot would take for a conflict at every settlement.
            if connections[using].vendor == "postgresql":
                sql.run(connections[using], sql.READ_COMMITTED_POSTGRESQL)
            outcome = execution.run(definition, body, context)
            if not isinstance(outcome, Succeeded):
                ends.append(outcome)
                transaction.set_rollback(True, using=using)
                return
            _settle(held, outcome, using=using)
            ends.append(AlreadySettled(outcome.result))

    ended = call(whole)
    if ended.error is None:
        return ends[0]
    if ends and _is_settled(held, using=using):
        logger.error("on_commit hook failed job=%s error=%s", held.lease.job_id, execution.safe_text(ended.error))
        return ends[0]
    return execution.outcome_of(ended.error, definition, context)


def _settle(held: Held, outcome: Succeeded, *, using: str) -> None:
    now = time.monotonic()
    progress, log = held.context.snapshot() if held.context else (None, None)
    settlement = Settlement(
        lease=held.lease,
        verdict=decide(outcome, held.claimed),
        duration=now - (held.started or now),
        log=log,
        progress=progress,
    )
    held.is_settling = True
    for _ in range(BUSY_TURNS):
        answer = leases.settle([settlement], using=using)[held.lease]
        if answer is Answer.DONE:
            return
        if answer is Answer.LOST:
            raise LeaseLost
        time.sleep(0.1)
    raise JobsError(f"Job #{held.lease.job_id} stayed locked by another transaction, so it could not be settled.")


def _is_settled(held: Held, *, using: str) -> bool:
    connection = connections[using]
    connection.close()
    asked = call(leases.is_settled, held.lease, using=using)
    if isinstance(asked.error, Error):
        logger.warning("commit in doubt job=%s: the database did not answer", held.lease.job_id)
    return bool(asked.value)
