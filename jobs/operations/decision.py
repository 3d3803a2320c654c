"""Who decided something, and the event that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from .. import clock, sql
from ..models import JobEvent
from ..payload import dumps, storable_text

Changes = Mapping[str, Any]
NO_CHANGES: Changes = {}


def _everything(permission: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Actor:
    """
    Who did it: an id and a name, both text, both kept when the user is gone.

    ``permits`` is asked before a job is started whose kind wants a permission;
    an actor that is no user, as on the command line, may start them all.
    """

    id: str = ""
    label: str = ""
    permits: Callable[[str], bool] = field(default=_everything, repr=False, compare=False)

    @classmethod
    def of(cls, user: Any) -> Actor:
        return cls(str(user.pk), user.get_username(), user.has_perm)


@dataclass(frozen=True, slots=True)
class Decision:
    """Who and why, as text that fits its columns."""

    actor: Actor
    reason: str

    @classmethod
    def of(cls, actor: Actor | None, reason: str) -> Decision:
        """Return the decision with whatever a person typed made storable: cut, and bad characters escaped."""
        who = actor or Actor()
        return cls(Actor(_fitted(who.id, 100), _fitted(who.label, 200), who.permits), _fitted(reason, 500))

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
        self.record_changes(kind, dict.fromkeys(job_ids, NO_CHANGES), using=using)

    def record_changes(self, kind: str, changes: Mapping[int, Changes], *, using: str) -> None:
        """Write an event for each job, with what changed from what to what."""
        rows = [{"job_id": job_id, "changes": changed} for job_id, changed in changes.items()]
        connection = connections[using]
        said = {"actor_id": self.actor.id, "actor_label": self.actor.label, "reason": self.reason}
        sql.fetch(connection, sql.DECIDE[connection.vendor], {"kind": str(kind), "rows": dumps(rows), **said})


def _fitted(text: str, most: int) -> str:
    return storable_text(text[:most], most=most)[:most]
