"""What a running job is doing, and in whose hands."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from ..models import Job
from .facts import Facts
from .wording import Sentences, because, between, named, nobody, who


def running(job: Job, facts: Facts) -> Sentences:
    if job.started_at is None:
        yield _("Worker %(worker)s has claimed it ahead of time, and starts it when one of its slots is free.") % {
            "worker": job.lease_owner
        }
    else:
        yield _("Worker %(worker)s has run attempt %(attempt)d of %(most)d for %(time)s.") % {
            "worker": job.lease_owner,
            "attempt": job.attempt,
            "most": job.max_attempts,
            "time": between(job.started_at, facts.now),
        }
    if job.cancel_requested_at is not None:
        yield from _cancelling(job.cancel_requested_at, facts)
    assert job.lease_expires_at is not None  # noqa: S101 (a check constraint holds it)
    yield from _lease(job.lease_expires_at, facts)


def _cancelling(asked_at: datetime, facts: Facts) -> Sentences:
    asked = _("%(who)s asked it to stop at %(time)s") % {"who": who(facts.decision), "time": named(asked_at, facts.now)}
    yield because(asked, facts.decision.reason if facts.decision else "")
    yield _("It ends as cancelled when its handler obeys, fails or loses its lease.")


def _lease(expires_at: datetime, facts: Facts) -> Sentences:
    if expires_at > facts.now:
        yield _("The lease ends at %(time)s, in %(wait)s, unless a heartbeat renews it.") % {
            "time": named(expires_at, facts.now),
            "wait": between(facts.now, expires_at),
        }
    else:
        yield _("The lease ended at %(time)s, %(wait)s ago.") % {
            "time": named(expires_at, facts.now),
            "wait": between(expires_at, facts.now),
        }
    if facts.owner is not None:
        yield _("The worker's last heartbeat came %(wait)s ago.") % {
            "wait": between(facts.owner.heartbeat_at, facts.now)
        }
    if expires_at <= facts.now:
        yield _("Another worker takes it over in a moment.") if facts.crew else nobody()
