"""Leaving ``running``: one fenced write for whatever the verdict was."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import connections, transaction
from django.db.models import Case, F, JSONField, Q, Value, When
from django.db.models.functions import Coalesce

from .. import clock, payload, sql
from ..models import Job, JobRun
from ..outcomes import Failure, RunOutcome, Verdict, released
from ..states import SUCCEED


class Answer(StrEnum):
    DONE = "done"
    BUSY = "busy"
    LOST = "lost"


class Lease(NamedTuple):
    """What every fenced write names: the job and the claim of it."""

    job_id: int
    claim_no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """
    One verdict to write. ``age`` is how many seconds ago the run ended and
    ``duration`` how long it ran, both by the worker's monotonic clock, so that
    the times stored are those of the run and not of the batch it was settled in.
    """

    lease: Lease
    verdict: Verdict
    age: float = 0.0
    duration: float | None = None
    log: str | None = None
    progress: dict[str, Any] | None = None


NO_FAILURE = Failure(exception_class="", message="")
Answers = dict[Lease, Answer]


def settle(settlements: Sequence[Settlement], *, using: str) -> Answers:
    """
    Write these verdicts and their runs, in one transaction, and answer for each.

    ``lost`` ones changed nothing. Raises the database's own error, with
    nothing written, if it refuses a row for its data.
    """
    if not settlements:
        return {}
    by_vendor = {"postgresql": settle_by_statement}
    return by_vendor.get(connections[using].vendor, settle_by_orm)(settlements, using=using)


def answers_for(offered: Iterable[Lease], done: Container[Lease], *, using: str) -> Answers:
    """Tell the rows that were written from those somebody has locked and those that are lost."""
    answers = {lease: Answer.DONE if lease in done else Answer.LOST for lease in offered}
    missed = [lease for lease, answer in answers.items() if answer is Answer.LOST]
    if missed:
        held = Job.objects.using(using).filter(
            pk__in=[lease.job_id for lease in missed], lease_expires_at__isnull=False
        )
        still_held = {Lease(*row) for row in held.values_list("pk", "claim_no")}
        answers |= {lease: Answer.BUSY for lease in missed if lease in still_held}
    return answers


def release(leases: Iterable[Lease], *, started: bool, using: str) -> Answers:
    """Hand jobs back with their attempts; one that had ``started`` leaves a run that says so."""
    verdict = released(started=started)
    return settle([Settlement(lease=lease, verdict=verdict) for lease in leases], using=using)


def is_settled(lease: Lease, *, using: str) -> bool:
    """
    Say whether this claim was settled by its holder: the question to ask when a COMMIT gave no answer.

    A run that a rescuer wrote, as lost, is not the holder's.
    """
    runs = JobRun.objects.using(using).filter(job_id=lease.job_id, claim_no=lease.claim_no)
    return runs.exclude(outcome=RunOutcome.LOST).exists()


def settle_by_statement(settlements: Sequence[Settlement], *, using: str) -> Answers:
    """Settle in the one statement of ``sql.SETTLE_POSTGRESQL``."""
    rows = payload.dumps([_offer(settlement) for settlement in settlements])
    done = {Lease(*row) for row in sql.fetch(connections[using], sql.SETTLE_POSTGRESQL, {"rows": rows})}
    return answers_for([settlement.lease for settlement in settlements], done, using=using)


def _offer(settlement: Settlement) -> dict[str, Any]:
    """Return the row to offer, without what is null, false or nothing: most rows are plain successes."""
    verdict = settlement.verdict
    move = verdict.move
    row: dict[str, Any] = {
        "id": settlement.lease.job_id,
        "claim_no": settlement.lease.claim_no,
        "target": move.target,
        "final": move.target.is_final,
        "outcome": verdict.run,
        "age": settlement.age,
        "duration": settlement.duration,
        "error": verdict.error if verdict.error is None else verdict.error[:500],
        "log": settlement.log,
        "progress": settlement.progress,
    }
    if move is not SUCCEED:
        row |= _exceptional(verdict)
    elif verdict.result is not None:
        row["result"] = verdict.result
    return row


def _exceptional(verdict: Verdict) -> dict[str, Any]:
    failure = verdict.failure or NO_FAILURE
    return {
        "yields": verdict.move.yields,
        "refund": int(verdict.refund),
        "delay": verdict.delay,
        "losses": verdict.losses,
        "stranded": int(verdict.stranded),
        "unknown": verdict.unknown,
        "exception_class": failure.exception_class[:200],
        "message": failure.message,
        "traceback": failure.traceback,
    }


def settle_by_orm(settlements: Sequence[Settlement], *, using: str) -> Answers:
    """Settle through the ORM: the reference that the statement is tested against."""
    with transaction.atomic(using=using):
        wanted = [settlement.lease.job_id for settlement in settlements]
        jobs = Job.objects.using(using).filter(pk__in=wanted, lease_expires_at__isnull=False)
        facts = {Lease(job.pk, job.claim_no): job for job in jobs.lock().only(*_RUN_FACTS)}
        # One reading for all rows: SQLite's clock moves on with every statement.
        now = clock.read(using)
        for settlement in settlements:
            if settlement.lease in facts:
                _settle_one(settlement, facts[settlement.lease], now, using=using)
        return answers_for([settlement.lease for settlement in settlements], facts, using=using)


_RUN_FACTS = ("claim_no", "attempt", "lease_owner", "run_at", "started_at", "log")


def _settle_one(settlement: Settlement, job: Job, now: datetime, *, using: str) -> None:
    verdict, lease = settlement.verdict, settlement.lease
    finished_at = now - timedelta(seconds=settlement.age)
    started_at = job.started_at
    if settlement.duration is not None:
        started_at = finished_at - timedelta(seconds=settlement.duration)
    held = Job.objects.using(using).filter(pk=lease.job_id, claim_no=lease.claim_no, lease_expires_at__isnull=False)
    held.move(verdict.move, **_changes(settlement, now, finished_at=finished_at, started_at=started_at))
    if verdict.run is not None:
        failure = verdict.failure or NO_FAILURE
        JobRun.objects.using(using).create(
            job_id=lease.job_id,
            claim_no=lease.claim_no,
            attempt=job.attempt,
            worker=job.lease_owner,
            outcome=verdict.run,
            due_at=job.run_at,
            started_at=started_at,
            finished_at=finished_at,
            exception_class=failure.exception_class[:200],
            message=failure.message,
            traceback=failure.traceback,
            log=job.log if settlement.log is None else settlement.log,
        )


def _changes(
    settlement: Settlement, now: datetime, *, finished_at: datetime, started_at: datetime | None
) -> dict[str, Any]:
    verdict = settlement.verdict
    if_final = _if_final(verdict)
    changes: dict[str, Any] = {
        "attempt": F("attempt") - int(verdict.refund),
        "stranded": F("stranded") + int(verdict.stranded),
        "finished_at": if_final(finished_at, None),
        "started_at": if_final(started_at, None),
        "progress": if_final(_progress(settlement), None),
        "lease_owner": "",
        "lease_expires_at": None,
        "cancel_requested_at": None,
        "log": "",
    }
    if verdict.delay is not None:
        changes["run_at"] = if_final(F("run_at"), now + timedelta(seconds=verdict.delay))
    if verdict.unknown:
        changes["unknown_since"] = Coalesce(F("unknown_since"), Value(now))
    elif verdict.run is not None:
        changes["unknown_since"] = None
    if verdict.result is not None:
        changes["result"] = json.loads(verdict.result)
    if verdict.error is not None:
        changes["error"] = verdict.error[:500]
    if verdict.losses is not None:
        changes["losses"] = verdict.losses
    return changes


def _progress(settlement: Settlement) -> Any:
    if settlement.progress is None:
        return F("progress")
    return Value(settlement.progress, output_field=JSONField())


def _if_final(verdict: Verdict) -> Callable[[Any, Any], Any]:
    """Return a choice between two values by whether the job ends here, which a yielding move leaves to the row."""
    if verdict.move.target.is_final:
        return lambda final, _: final
    if not verdict.move.yields:
        return lambda _, other: other
    asked = Q(cancel_requested_at__isnull=False)
    return lambda final, other: _chosen_by(asked, final, other)


def _chosen_by(condition: Q, one: Any, other: Any) -> Any:
    # PostgreSQL takes a CASE of nothing but NULL for text.
    if one is None and other is None:
        return None
    return Case(When(condition, then=_expression(one)), default=_expression(other))


def _expression(value: Any) -> Any:
    return value if hasattr(value, "resolve_expression") else Value(value)
