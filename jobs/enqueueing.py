"""From a ``JobSpec`` to a row: every check an enqueue makes, and the one statement that inserts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.conf import settings as django_settings
from django.db import connections, transaction
from django.utils import timezone

from . import clock, payload, registry, sql, states
from .conf import settings
from .exceptions import DuplicateJob, InvalidJob
from .retry import MAX_DELAY_SECONDS, Backoff, seconds
from .specs import Enqueued, JobSpec
from .states import LIVE, State

if TYPE_CHECKING:
    from .models import Job
    from .models.queryset import JobQuerySet

Row = dict[str, Any]
EARLIEST, LATEST = 1970, 9000
# Two tries see a holder that finished in between; more means that this
# transaction's snapshot hides the holder.
TRIES = 5


def enqueue(model: type[Job], spec: JobSpec, *, using: str) -> Job:
    """Insert one job, or meet its unique key's live holder as ``spec.on_conflict`` says."""
    row = checked(spec, using=using)
    for _ in range(TRIES):
        inserted = _insert([row], using=using)
        if inserted:
            return _instance(model, row, inserted[0], using=using)
        holder = _meet_holder(model, spec, row, using=using)
        if holder is not None:
            return holder
    raise DuplicateJob(
        f"unique_key={spec.unique_key!r} is taken by a job that this transaction cannot see: "
        "enqueue it outside the REPEATABLE READ transaction."
    )


def enqueue_many(model: type[Job], specs: Iterable[JobSpec], *, using: str, chunk: int) -> list[Enqueued]:
    """Insert all specs or none; see ``JobQuerySet.enqueue_many``."""
    listed = list(specs)
    rows = [checked(spec, using=using) for spec in listed]
    answers: list[Enqueued | None] = [None] * len(rows)
    # Sorted by key, or two batches that share keys would deadlock.
    order = sorted(range(len(rows)), key=lambda index: rows[index]["unique_key"] or "")
    with transaction.atomic(using=using):
        for start in range(0, len(order), chunk):
            _insert_chunk(rows, order[start : start + chunk], answers, using=using)
        for index in order:
            if answers[index] is None:
                met = enqueue(model, listed[index], using=using)
                answers[index] = Enqueued(met.pk, met.created)
    return [answer for answer in answers if answer is not None]


def _insert_chunk(rows: list[Row], order: Sequence[int], answers: list[Enqueued | None], *, using: str) -> None:
    unkeyed: list[int] = []
    keyed: dict[str, int] = {}
    for index in order:
        key = rows[index]["unique_key"]
        if key is None:
            unkeyed.append(index)
        else:
            keyed.setdefault(key, index)
    slots = iter(unkeyed)
    for job_id, key, *_ in _insert([rows[index] for index in [*unkeyed, *keyed.values()]], using=using):
        answers[next(slots) if key is None else keyed[key]] = Enqueued(job_id, created=True)


def _insert(rows: list[Row], *, using: str) -> list[tuple[Any, ...]]:
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(sql.ENQUEUE[connection.vendor], {"rows": payload.dumps(rows)})
        inserted: list[tuple[Any, ...]] = cursor.fetchall()
    return inserted


def _meet_holder(model: type[Job], spec: JobSpec, row: Row, *, using: str) -> Job | None:
    """Return the live job that holds the key, changed if so asked; None if it has finished meanwhile."""
    holders = model.objects.using(using).filter(unique_key=spec.unique_key, state__in=LIVE)
    if spec.on_conflict == "replace":
        _replace(holders, row)
    holder = holders.first()
    if holder is not None and spec.on_conflict == "raise":
        raise DuplicateJob(
            f"unique_key={spec.unique_key!r} is held by job #{holder.pk}, which is {holder.state}.", job_id=holder.pk
        )
    return holder


def _replace(holders: JobQuerySet, row: Row) -> None:
    """Give a job that has not started the new payload, time and priority; a running one keeps its own."""
    waiting = holders.filter(state__in=(State.SCHEDULED, State.PENDING))
    run_at: Any = clock.in_seconds(row["delay"] or 0) if row["run_at"] is None else _stored(row["run_at"])
    waiting.update(args=row["args"], payload=row["payload"], priority=row["priority"], run_at=run_at)
    waiting.filter(run_at__lte=clock.now()).move(states.PROMOTE)
    waiting.filter(run_at__gt=clock.now()).move(states.POSTPONE)


def _instance(model: type[Job], row: Row, inserted: tuple[Any, ...], *, using: str) -> Job:
    job_id, _, state, run_at, enqueued_at = inserted
    values = {name: value for name, value in row.items() if name != "delay"}
    values |= {"run_at": _stored(run_at), "enqueued_at": _stored(enqueued_at), "state": State(state)}
    values["expires_at"] = _stored(row["expires_at"])
    job = model(id=job_id, **values)
    job._state.adding = False
    job._state.db = using
    job.created = True
    return job


def checked(spec: JobSpec, *, using: str) -> Row:
    """Return the row ``spec`` stands for; raise ``InvalidJob`` naming the first field that cannot be stored."""
    definition = _definition(spec.kind)
    options = definition.options if definition else registry.Options()
    kind = definition.kind if definition else spec.kind
    args, keywords = list(spec.args), dict(spec.payload or {})
    _check_payload(args, keywords, spec)
    if definition:
        definition.check_arguments(args, keywords)
    backoff = _backoff(spec, options)
    return {
        "kind": kind,
        "args": args,
        "payload": keywords,
        "queue": _checked_with(registry.check_queue, _first(spec.queue, options.queue)),
        "priority": _checked_with(registry.check_priority, _first(spec.priority, options.priority)),
        "max_attempts": _checked_with(
            registry.check_max_attempts, _first(spec.max_attempts, options.max_attempts, settings.max_attempts)
        ),
        "timeout": _timeout(_first(spec.timeout, options.timeout)),
        "backoff_base": backoff.base,
        "backoff_cap": backoff.cap,
        "backoff_jitter": backoff.jitter,
        **_times(spec, using=using),
        "unique_key": _unique_key(spec),
        "metadata": _metadata(spec),
    }


def _definition(kind: Any) -> registry.JobDefinition[..., Any] | None:
    if settings.allow_unknown_kinds and isinstance(kind, str) and 0 < len(kind) <= 200:
        return registry.find(kind)
    return registry.resolve(kind)


def _check_payload(args: list[Any], keywords: dict[str, Any], spec: JobSpec) -> None:
    most = settings.payload_max_bytes
    if args:
        payload.check(args, "args", max_bytes=most)
    if keywords:
        payload.check(keywords, "payload", max_bytes=most)
    for key in keywords:
        if not isinstance(key, str):
            raise InvalidJob(f"payload has the key {key!r}: it holds keyword arguments, so use their names.")
    if spec.on_conflict not in ("skip", "replace", "raise"):
        raise InvalidJob(f"on_conflict={spec.on_conflict!r} is not known: give 'skip', 'replace' or 'raise'.")


def _backoff(spec: JobSpec, options: registry.Options) -> Backoff:
    stored = options.backoff if not callable(options.backoff) else None
    chosen = _first(spec.backoff, stored)
    if callable(chosen):
        raise InvalidJob("backoff cannot be a function here: give it to @job, or pass a Backoff or seconds.")
    return Backoff() if chosen is None else Backoff.of(chosen)


def _times(spec: JobSpec, *, using: str) -> Row:
    if spec.run_at is not None and spec.delay is not None:
        raise InvalidJob("run_at and delay are both given: give one of them.")
    delay = None if spec.delay is None else seconds(spec.delay, "delay", most=10 * MAX_DELAY_SECONDS)
    return {
        "run_at": _moment(spec.run_at, "run_at", using=using),
        "delay": delay or None,
        "expires_at": _moment(spec.expires_at, "expires_at", using=using),
    }


def _moment(value: Any, name: str, *, using: str) -> str | None:
    """Return a datetime as this database compares it: ISO text with the zone on PostgreSQL, UTC text on SQLite."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidJob(f"{name}={value!r} is not a datetime.")
    if not EARLIEST <= value.year <= LATEST:
        raise InvalidJob(f"{name}={value!r} is out of range: give a year from {EARLIEST} to {LATEST}.")
    if timezone.is_naive(value):
        if django_settings.USE_TZ:
            raise InvalidJob(f"{name}={value!r} has no time zone: use django.utils.timezone.make_aware() or delay=.")
        value = timezone.make_aware(value, timezone.get_default_timezone())
    if connections[using].vendor == "sqlite":
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return value.isoformat()


def _stored(value: str | datetime | None) -> datetime | None:
    """Return a stored time as Django shows it: aware under USE_TZ, else naive in the default zone."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if timezone.is_naive(moment):
        moment = moment.replace(tzinfo=UTC)
    return moment if django_settings.USE_TZ else timezone.make_naive(moment, timezone.get_default_timezone())


def _timeout(value: Any) -> float | None:
    return None if value is None else seconds(value, "timeout", least=0.001)


def _unique_key(spec: JobSpec) -> str | None:
    key = spec.unique_key
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= 250:
        raise InvalidJob(f"unique_key={key!r} is no key: give a text of 1 to 250 characters.")
    payload.check(key, "unique_key", max_bytes=2_000)
    return key


def _metadata(spec: JobSpec) -> Row:
    metadata = dict(spec.metadata or {})
    if metadata:
        payload.check(metadata, "metadata", max_bytes=settings.payload_max_bytes)
    return metadata


def _checked_with(check: Any, value: Any) -> Any:
    check(value)
    return value


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)
