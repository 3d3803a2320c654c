"""Who decided something, and the event that says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import clock
from ..models import JobEvent


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: an id and a name, both text, both kept when the user is gone."""

    id: str = ""
    label: str = ""

    @classmethod
    def of(cls, user: Any) -> Actor:
        return cls(str(user.pk), user.get_username())


@dataclass(frozen=True, slots=True)
class Decision:
    actor: Actor
    reason: str

    def event(self, kind: str, **subject: Any) -> JobEvent:
        who = self.actor
        return JobEvent(
            at=clock.now(), kind=kind, actor_id=who.id, actor_label=who.label[:200], reason=self.reason[:500], **subject
        )

    def record(self, kind: str, job_ids: Iterable[int], *, using: str) -> None:
        JobEvent.objects.using(using).bulk_create(self.event(kind, job_id=job_id) for job_id in job_ids)
