"""Draining workers."""

from __future__ import annotations

from django.db import router, transaction

from .. import clock
from ..models import JobEvent, Worker
from ..wakeups import DRAIN, Wakeup, announce
from .decision import Actor, Decision


def drain(worker: str, *, actor: Actor | None = None, reason: str = "", using: str = "") -> bool:
    """
    Ask the worker of that name to finish what it runs and end, not to be replaced by its supervisor.

    Says whether there is such a worker that has not stopped and was not asked before.
    """
    alias = using or router.db_for_write(Worker)
    with transaction.atomic(using=alias):
        asked = Worker.objects.using(alias).filter(
            name=worker, stopped_at__isnull=True, drain_requested_at__isnull=True
        )
        if not asked.update(drain_requested_at=clock.now()):
            return False
        Decision.of(actor, reason).event(JobEvent.Kind.DRAINED, worker=worker).save(using=alias)
        announce([Wakeup(DRAIN, worker)], using=alias)
    return True
