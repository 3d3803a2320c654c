"""Enqueueing by hand: a new job, or a copy of one that has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.utils.translation import gettext as _

from .. import registry
from ..exceptions import InvalidJob
from ..models import Job, JobEvent
from ..specs import JobSpec
from ..states import State
from .decision import Actor, Decision


def enqueue(spec: JobSpec, *, actor: Actor | None = None, reason: str = "", using: str = "") -> Job:
    """
    Enqueue ``spec`` for a person, with an event that says for whom.

    The job's ``created`` is False, and no event is written, where a live job
    held the unique key. Raises ``PermissionDenied`` if the actor lacks the
    permission of the kind, and what ``Job.objects.enqueue`` raises.
    """
    alias = using or router.db_for_write(Job)
    decision = Decision.of(actor, reason)
    check_permission(spec.kind, decision.actor)
    with transaction.atomic(using=alias):
        job = Job.objects.using(alias).enqueue(spec)
        if job.created:
            decision.record(JobEvent.Kind.ENQUEUED, [job.pk], using=alias)
    return job


def copy(
    original: Job,
    *,
    args: Sequence[Any] | None = None,
    payload: Mapping[str, Any] | None = None,
    actor: Actor | None = None,
    reason: str = "",
    **options: Any,
) -> Job:
    """
    Enqueue a new job like one that has ended, with ``args``, ``payload`` and options of its own where they are given.

    The copy knows the original as ``copied_from``, and both have an event.
    Raises as ``enqueue`` does, and ``InvalidJob`` if the original may still run.
    """
    if not State(original.state).is_final:
        message = _("Job #%(id)d is %(state)s: only a job that has ended can be copied.")
        raise InvalidJob(message % {"id": original.pk, "state": original.state})
    alias = original._state.db or router.db_for_write(Job)
    spec = JobSpec(
        original.kind,
        original.payload if payload is None else payload,
        args=original.args if args is None else args,
        **(_options(original) | options),
    )
    with transaction.atomic(using=alias):
        job = enqueue(spec, actor=actor, reason=reason, using=alias)
        if job.created:
            Job.objects.using(alias).filter(pk=job.pk).update(copied_from=original)
            job.copied_from = original
            changes = {original.pk: {"copy": [None, job.pk]}}
            Decision.of(actor, reason).record_changes(JobEvent.Kind.COPIED, changes, using=alias)
    return job


def _options(original: Job) -> dict[str, Any]:
    names = ("queue", "priority", "max_attempts", "timeout", "backoff", "unique_key", "metadata")
    return {name: getattr(original, name) for name in names}


def check_permission(kind: Any, actor: Actor) -> None:
    """Raise ``PermissionDenied`` if the actor lacks what ``@job(permission=...)`` of this kind asks."""
    definition = registry.find(kind) if isinstance(kind, str) else kind
    if definition is None or definition.options.permission is None:
        return
    if not actor.permits(definition.options.permission):
        message = _("Jobs of the kind %(kind)r may be started by whoever has %(permission)s.")
        raise PermissionDenied(message % {"kind": definition.kind, "permission": definition.options.permission})
