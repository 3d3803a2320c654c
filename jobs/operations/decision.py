"""Who decided something, and the event that says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import clock
from ..models import JobEvent
from ..payload import storable_text


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
    """Who and why, as text that fits its columns."""

    actor: Actor
    reason: str

    @classmethod
    def of(cls, actor: Actor | None, reason: str) -> Decision:
        """Return the decision with whatever a person typed made storable: cut, and bad characters escaped."""
        who = actor or Actor()
        return cls(Actor(_fitted(who.id, 100), _fitted(who.label, 200)), _fitted(reason, 500))

    def event(self, kind: str, **subject: Any) -> JobEvent:
        return JobEvent(
            at=clock.now(),
            kind=kind,
            actor_id=self.actor.id,
            actor_label=self.actor.label,
            reason=self.reason,
            **subject,
        )

    def record(self, kind: str, job_ids: Iterable[int], *, using: str) -> None:
        JobEvent.objects.using(using).bulk_create(self.event(kind, job_id=job_id) for job_id in job_ids)


def _fitted(text: str, most: int) -> str:
    return storable_text(text[:most], most=most)[:most]
