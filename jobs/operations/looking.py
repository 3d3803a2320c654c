"""Looking at what is hidden, which is a decision too."""

from __future__ import annotations

from django.db import router

from ..models import Job, JobEvent
from .decision import Actor, Decision


def note_payload_viewed(job: Job, *, actor: Actor | None = None, reason: str = "") -> None:
    """Record that somebody sees the unmasked documents of ``job``; call it before they do."""
    using = job._state.db or router.db_for_write(Job)
    Decision.of(actor, reason).record(JobEvent.Kind.PAYLOAD_VIEWED, [job.pk], using=using)
