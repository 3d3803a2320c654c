"""Saying what a test expects to be enqueued, with errors that show what is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import payload as stored
from .. import registry
from ..conf import settings
from ..models import Job
from ..models.queryset import JobQuerySet
from ..registry import JobDefinition

SHOWN = 20


def assert_enqueued(
    kind: str | JobDefinition[..., Any],
    *,
    payload: Mapping[str, Any] | None = None,
    args: Sequence[Any] | None = None,
    queue: str | None = None,
    count: int | None = None,
    using: str | None = None,
) -> list[Job]:
    """
    Raise AssertionError unless a job of this kind waits (scheduled or pending) with these values; return all that match.

    ``payload`` and ``args`` are compared whole, as JSON has them (a tuple
    equals a list); what is None may be anything. ``count`` asks for exactly so
    many, otherwise one is enough. Raises ``UnknownKind`` for a misspelt kind.
    """
    __tracebackhide__ = True
    wanted = _Wanted(kind, payload=payload, args=args, queue=queue, using=using)
    found = wanted.waiting()
    if count is None and not found:
        raise AssertionError(f"No {wanted} is enqueued. {wanted.listing()}")
    if count is not None and len(found) != count:
        raise AssertionError(f"{len(found)} of {wanted} are enqueued, not {count}. {wanted.listing()}")
    return found


def assert_not_enqueued(
    kind: str | JobDefinition[..., Any],
    *,
    payload: Mapping[str, Any] | None = None,
    args: Sequence[Any] | None = None,
    queue: str | None = None,
    using: str | None = None,
) -> None:
    """Raise AssertionError if a job waits that ``assert_enqueued`` would find."""
    __tracebackhide__ = True
    wanted = _Wanted(kind, payload=payload, args=args, queue=queue, using=using)
    if found := wanted.waiting():
        raise AssertionError(f"{len(found)} of {wanted} enqueued, none expected. {wanted.listing()}")


class _Wanted:
    """The jobs that a test speaks of."""

    def __init__(self, kind: str | JobDefinition[..., Any], *, using: str | None, **values: Any) -> None:
        definition = _definition(kind)
        self._kind = definition.kind if definition else str(kind)
        kinds = [self._kind, *(definition.options.aliases if definition else ())]
        jobs: JobQuerySet = Job.objects.all() if using is None else Job.objects.using(using)
        self._jobs = jobs.using(jobs.write_alias).filter(kind__in=kinds).order_by("pk")
        self._values = {name: _as_json(value) for name, value in values.items() if value is not None}

    def __str__(self) -> str:
        values = "".join(f" {name}={value!r}" for name, value in self._values.items())
        return f"{self._kind!r}{values}"

    def waiting(self) -> list[Job]:
        # Compared here and not in the database, whose JSON equality differs from one to the other.
        states = (Job.State.SCHEDULED, Job.State.PENDING)
        return [job for job in self._jobs.filter(state__in=states) if self._fits(job)]

    def listing(self) -> str:
        """Describe the jobs of this kind, those that have run included."""
        jobs = list(self._jobs[: SHOWN + 1])
        if not jobs:
            return f"There is no job of kind {self._kind!r} at all."
        lines = [f"#{job.pk} {job.state} args={job.args!r} payload={job.payload!r} queue={job.queue!r}" for job in jobs]
        more = ["…"] if len(lines) > SHOWN else []
        return "\n  ".join([f"Jobs of kind {self._kind!r}:", *lines[:SHOWN], *more])

    def _fits(self, job: Job) -> bool:
        return all(getattr(job, name) == value for name, value in self._values.items())


def _definition(kind: str | JobDefinition[..., Any]) -> JobDefinition[..., Any] | None:
    """Return the handler, so that ``assert_not_enqueued`` does not pass because of a typing error."""
    if isinstance(kind, str) and settings.allow_unknown_kinds:
        return registry.find(kind)
    return registry.resolve(kind)


def _as_json(value: Any) -> Any:
    return json.loads(stored.dumps(dict(value) if isinstance(value, Mapping) else value))
