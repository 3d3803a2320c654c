"""Pausing and resuming queues."""

from __future__ import annotations

from datetime import datetime

from django.db import router, transaction

from .. import clock, registry
from ..admission import check_moment
from ..models import JobEvent, Queue
from ..wakeups import READY, Wakeup, announce
from .decision import Actor, Decision


def pause(
    queue: str, *, actor: Actor | None = None, reason: str = "", resume_at: datetime | None = None, using: str = ""
) -> Queue:
    """
    Stop workers from claiming jobs of ``queue``, within a second or so; running jobs go on.

    Pausing a paused queue replaces reason and ``resume_at``, at which it
    resumes by itself. Works for a queue nobody has used yet.
    """
    registry.check_queue(queue)
    until = None if resume_at is None else check_moment(resume_at, "resume_at")
    alias = using or router.db_for_write(Queue)
    decision = Decision.of(actor, reason)
    with transaction.atomic(using=alias):
        row, _ = Queue.objects.using(alias).get_or_create(name=queue)
        Queue.objects.using(alias).filter(pk=row.pk).update(
            paused_at=clock.now(),
            paused_by=decision.actor.label,
            pause_reason=decision.reason,
            resume_at=clock.at(until),
        )
        decision.event(JobEvent.Kind.PAUSED, queue=queue).save(using=alias)
    row.refresh_from_db(using=alias)
    return row


def resume(queue: str, *, actor: Actor | None = None, reason: str = "", using: str = "") -> bool:
    """Let workers claim from ``queue`` again; say whether it was paused."""
    alias = using or router.db_for_write(Queue)
    with transaction.atomic(using=alias):
        paused = Queue.objects.using(alias).filter(name=queue, paused_at__isnull=False)
        if not paused.update(paused_at=None, paused_by="", pause_reason="", resume_at=None):
            return False
        Decision.of(actor, reason).event(JobEvent.Kind.RESUMED, queue=queue).save(using=alias)
    announce([Wakeup(READY, queue)], using=alias)
    return True
