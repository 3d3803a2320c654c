"""What a caller wants enqueued, before anything is checked or stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .exceptions import Duration
    from .registry import JobDefinition
    from .retry import Backoff

OnConflict = Literal["skip", "replace", "raise"]


@dataclass(frozen=True, slots=True)
class JobSpec:
    """
    One job to enqueue. ``None`` means: what the handler or the settings say.

    ``payload`` are the handler's keyword arguments and ``args`` its positional
    ones. ``delay``, ``timeout`` and a plain ``backoff`` are seconds or
    timedelta; ``priority`` is -100 to 100, higher first. ``unique_key`` is
    held by one live job at a time; ``on_conflict`` says what happens when it is
    taken: ``skip`` keeps the live job, ``replace`` gives a job that has not
    started the new payload, time and priority, ``raise`` raises ``DuplicateJob``.
    """

    kind: str | JobDefinition[..., Any]
    payload: Mapping[str, Any] | None = None
    args: Sequence[Any] = field(default=(), kw_only=True)
    run_at: datetime | None = field(default=None, kw_only=True)
    delay: Duration | None = field(default=None, kw_only=True)
    queue: str | None = field(default=None, kw_only=True)
    priority: int | None = field(default=None, kw_only=True)
    max_attempts: int | None = field(default=None, kw_only=True)
    timeout: Duration | None = field(default=None, kw_only=True)
    backoff: Backoff | Duration | None = field(default=None, kw_only=True)
    unique_key: str | None = field(default=None, kw_only=True)
    on_conflict: OnConflict = field(default="skip", kw_only=True)
    expires_at: datetime | None = field(default=None, kw_only=True)
    metadata: Mapping[str, Any] | None = field(default=None, kw_only=True)


def spec_of(kind: Any, payload: Any, options: Mapping[str, Any]) -> JobSpec:
    """Return the spec these stand for; raise TypeError for an option that there is not."""
    if isinstance(kind, JobSpec):
        if payload is not None or options:
            raise TypeError("enqueue() takes a JobSpec alone: put payload and options into it.")
        return kind
    for name in options:
        if name not in JobSpec.__dataclass_fields__:
            raise TypeError(
                f"enqueue() has no option {name!r}: the handler's own arguments go in a dictionary, "
                f"as in enqueue({getattr(kind, 'kind', kind)!r}, {{{name!r}: ...}})."
            )
    # Those of ``handler.using(...)`` too, where that is the kind.
    return JobSpec(kind, payload, **{**getattr(kind, "enqueue_options", {}), **options})


@dataclass(frozen=True, slots=True)
class Enqueued:
    """What became of one spec of a bulk enqueue; ``created`` is False where a live job already held the unique key."""

    id: int
    created: bool
