"""A job as its worker gets it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from django.db.models import DurationField, ExpressionWrapper, F, TextField
from django.db.models.functions import Cast

from .. import clock
from ..models.queryset import JobQuerySet
from ..retry import Backoff
from .settlement import Lease
from .trail import Place

J = TypeVar("J", list[Any], dict[str, Any])


class Claimed(NamedTuple):
    """A job as its worker got it: ``claim_no`` and ``attempt`` are those of this claim."""

    job_id: int
    claim_no: int
    attempt: int
    kind: str
    args_text: str
    payload_text: str
    queue: str
    max_attempts: int
    backoff_base: float
    backoff_cap: float
    backoff_jitter: float
    timeout: float | None
    enqueued_at: datetime
    metadata_text: str
    losses: int
    stranded: int
    expires_in: timedelta | None
    cron_id: int | None
    scheduled_for: datetime | None
    priority: int
    run_at: datetime

    @property
    def place(self) -> Place:
        return Place(self.priority, self.run_at, self.job_id)

    @property
    def args(self) -> list[Any]:
        return _loaded(self.args_text, [])

    @property
    def payload(self) -> dict[str, Any]:
        return _loaded(self.payload_text, {})

    @property
    def metadata(self) -> dict[str, Any]:
        return _loaded(self.metadata_text, {})

    @property
    def backoff(self) -> Backoff:
        return Backoff.stored(self.backoff_base, self.backoff_cap, self.backoff_jitter)

    @property
    def lease(self) -> Lease:
        return Lease(self.job_id, self.claim_no)

    @property
    def is_expired(self) -> bool:
        return self.expires_in is not None and self.expires_in <= timedelta(0)


def _loaded(text: str, empty: J) -> J:
    if len(text) <= len("{}"):
        return empty
    loaded: J = json.loads(text)
    return loaded


COLUMNS = (
    "id",
    "next_claim_no",
    "next_attempt",
    "kind",
    "args_text",
    "payload_text",
    "queue",
    "max_attempts",
    "backoff_base",
    "backoff_cap",
    "backoff_jitter",
    "timeout",
    "enqueued_at",
    "metadata_text",
    "losses",
    "stranded",
    "expires_in",
    "cron_id",
    "scheduled_for",
    "priority",
    "run_at",
)


def as_claimed(jobs: JobQuerySet) -> Any:
    """Return the rows of jobs, locked, as ``Claimed`` has them."""
    return (
        jobs.locked()
        .annotate(
            next_claim_no=F("claim_no") + 1,
            next_attempt=F("attempt") + 1,
            # As text: parsed by the slot that runs the job, and not at all where empty.
            args_text=Cast("args", TextField()),
            payload_text=Cast("payload", TextField()),
            metadata_text=Cast("metadata", TextField()),
            expires_in=ExpressionWrapper(F("expires_at") - clock.now(), output_field=DurationField()),
        )
        .values_list(*COLUMNS)
    )
