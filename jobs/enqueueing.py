"""Inserting jobs: one statement for one row and for thousands, and what happens when a unique key is taken."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction
from django.db.models import TextField, Value

from . import clock, sql, states, wakeups
from .admission import NOTHING, Candidate, admit, stored
from .exceptions import DuplicateJob, InvalidJob
from .specs import Enqueued, JobSpec
from .states import LIVE, State
from .wakeups import Wakeup

if TYPE_CHECKING:
    from .models import Job
    from .models.queryset import JobQuerySet

# A second try is for a holder that finished in between. (Under REPEATABLE READ
# the INSERT itself fails for a holder that its snapshot does not show.)
TRIES = 5


def enqueue(model: type[Job], spec: JobSpec, *, using: str) -> Job:
    """Insert one job, or meet its unique key's live holder as ``spec.on_conflict`` says."""
    return _insert_or_meet(model, spec, admit(spec, vendor=connections[using].vendor), using=using)


def enqueue_many(model: type[Job], specs: Iterable[JobSpec], *, using: str, chunk: int) -> list[Enqueued]:
    """Insert all specs or none; see ``JobQuerySet.enqueue_many``."""
    listed = list(specs)
    vendor = connections[using].vendor
    candidates = [_admit_numbered(number, spec, vendor=vendor) for number, spec in enumerate(listed)]
    answers: list[Enqueued | None] = [None] * len(listed)
    # Sorted by key, or two batches that share keys would deadlock.
    order = sorted(range(len(listed)), key=lambda index: candidates[index].unique_key or "")
    with transaction.atomic(using=using):
        for start in range(0, len(order), chunk):
            _insert_chunk(candidates, order[start : start + chunk], answers, using=using)
        for index in order:
            if answers[index] is None:
                met = _insert_or_meet(model, listed[index], candidates[index], using=using)
                answers[index] = Enqueued(met.pk, met.created)
    return [answer for answer in answers if answer is not None]


def _admit_numbered(number: int, spec: JobSpec, *, vendor: str) -> Candidate:
    try:
        return admit(spec, vendor=vendor)
    except InvalidJob as error:
        raise type(error)(f"specs[{number}]: {error}") from None


def _insert_chunk(
    candidates: list[Candidate], order: Sequence[int], answers: list[Enqueued | None], *, using: str
) -> None:
    unkeyed: list[int] = []
    keyed: dict[str, int] = {}
    for index in order:
        key = candidates[index].unique_key
        if key is None:
            unkeyed.append(index)
        else:
            keyed.setdefault(key, index)
    # Rows come back in the order they went in, so those without a key are told apart by place.
    places = iter(unkeyed)
    for job_id, key in insert([candidates[index] for index in [*unkeyed, *keyed.values()]], using=using):
        answers[next(places) if key is None else keyed[key]] = Enqueued(job_id, created=True)


def insert(candidates: Sequence[Candidate], *, using: str, returning: str = sql.RETURNING_KEY) -> list[tuple[Any, ...]]:
    """Insert jobs in one statement, all but those whose unique key is taken; return what it returns of each."""
    # What most have in common travels once: half of the text, and of the time to read it.
    usual = next((candidate.usual for candidate in candidates if candidate.usual != NOTHING), NOTHING)
    rows = [candidate.text if candidate.usual == usual else candidate.whole_text for candidate in candidates]
    connection = connections[using]
    statement = sql.ENQUEUE[connection.vendor] + returning
    inserted = sql.fetch(connection, statement, {"usual": usual, "rows": f"[{','.join(rows)}]"})
    if inserted:
        wakeups.announce(_wakeups(candidates), using=using)
    return inserted


def _wakeups(candidates: Sequence[Candidate]) -> set[Wakeup]:
    later = any("delay" in candidate.values or "run_at" in candidate.values for candidate in candidates)
    ready = {Wakeup(wakeups.READY, candidate.values["queue"]) for candidate in candidates}
    return ready | {Wakeup(wakeups.SOON)} if later else ready


def _insert_or_meet(model: type[Job], spec: JobSpec, candidate: Candidate, *, using: str) -> Job:
    for _ in range(TRIES):
        inserted = insert([candidate], using=using, returning=sql.RETURNING_ALL)
        if inserted:
            return _instance(model, candidate, inserted[0], using=using)
        holder = _meet_holder(model, spec, candidate, using=using)
        if holder is not None:
            return holder
    raise DuplicateJob(f"unique_key={spec.unique_key!r} changed hands {TRIES} times meanwhile: try again.")


def _meet_holder(model: type[Job], spec: JobSpec, candidate: Candidate, *, using: str) -> Job | None:
    """Return the live job that holds the key, changed if so asked; None if it has finished meanwhile."""
    holders = model.objects.using(using).filter(unique_key=spec.unique_key, state__in=LIVE)
    if spec.on_conflict == "replace":
        # Seen whole or not at all: a worker must not claim the row with its new payload before its new time.
        with transaction.atomic(using=using, savepoint=False):
            _replace(holders, candidate)
        wakeups.announce(_wakeups([candidate]), using=using)
    holder = holders.first()
    if holder is not None:
        _check_holder(holder, spec, candidate)
    return holder


def _check_holder(holder: Job, spec: JobSpec, candidate: Candidate) -> None:
    kind = candidate.values["kind"]
    if spec.on_conflict == "replace" and holder.kind != kind:
        raise DuplicateJob(
            f"unique_key={spec.unique_key!r} is held by job #{holder.pk} of kind {holder.kind!r}, "
            f"whose payload a {kind!r} cannot replace.",
            job_id=holder.pk,
        )
    if spec.on_conflict == "raise":
        raise DuplicateJob(
            f"unique_key={spec.unique_key!r} is held by job #{holder.pk}, which is {holder.state}.", job_id=holder.pk
        )


def _replace(holders: JobQuerySet, candidate: Candidate) -> None:
    """Give a job that has not started the new payload, time and priority; a running one keeps its own."""
    new = candidate.values
    # Not now plus nothing: on SQLite a sum has more digits, and is later than the millisecond it stands for.
    run_at: Any = clock.in_seconds(new["delay"]) if "delay" in new else clock.now()
    if "run_at" in new:
        run_at = Value(new["run_at"], output_field=TextField())
    waiting = holders.filter(kind=new["kind"], state__in=(State.SCHEDULED, State.PENDING))
    waiting.update(args=new["args"], payload=new["payload"], priority=new["priority"], run_at=run_at)
    waiting.filter(run_at__lte=clock.now()).move(states.PROMOTE)
    waiting.filter(run_at__gt=clock.now()).move(states.POSTPONE)


def _instance(model: type[Job], candidate: Candidate, inserted: tuple[Any, ...], *, using: str) -> Job:
    job_id, state, run_at, enqueued_at = inserted
    # From the text, so that tuples are lists already, as they will be in the database.
    values = json.loads(candidate.whole_text)
    values.pop("delay", None)
    times = {"run_at": run_at, "enqueued_at": enqueued_at, "expires_at": values.get("expires_at")}
    vendor = connections[using].vendor
    values |= {name: stored(moment, vendor=vendor) for name, moment in times.items()}
    values["state"] = State(state)
    job = model(id=job_id, **values)
    job._state.adding = False
    job._state.db = using
    job.created = True
    return job
