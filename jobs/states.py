"""The states of a job and the one table of moves between them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class State(TextChoices):
    SCHEDULED = "scheduled", _("Scheduled")
    PENDING = "pending", _("Pending")
    RUNNING = "running", _("Running")
    SUCCEEDED = "succeeded", _("Succeeded")
    DEAD = "dead", _("Dead")
    CANCELLED = "cancelled", _("Cancelled")

    @property
    def is_final(self) -> bool:
        return self in FINAL


FINAL = (State.SUCCEEDED, State.DEAD, State.CANCELLED)
LIVE = (State.SCHEDULED, State.PENDING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Move:
    """
    One allowed transition.

    A move that ``yields`` ends in ``cancelled`` instead of ``target`` when a
    cancel was requested; the UPDATE itself decides, because the request may
    arrive after the verdict.
    """

    name: str
    sources: tuple[State, ...]
    target: State
    yields: bool = False


def _from_running(name: str, target: State, *, yields: bool = False) -> Move:
    return Move(name, (State.RUNNING,), target, yields)


PROMOTE = Move("promote", (State.SCHEDULED,), State.PENDING)
TRIGGER = Move("trigger", (State.SCHEDULED,), State.PENDING)
CLAIM = Move("claim", (State.PENDING,), State.RUNNING)
POSTPONE = Move("postpone", (State.PENDING,), State.SCHEDULED)
CANCEL = Move("cancel", (State.SCHEDULED, State.PENDING), State.CANCELLED)
EXPIRE = Move("expire", (State.SCHEDULED, State.PENDING), State.CANCELLED)
DISCARD = Move("discard", (State.DEAD,), State.CANCELLED)
RETRY = Move("retry", (State.DEAD, State.CANCELLED), State.PENDING)

SUCCEED = _from_running("succeed", State.SUCCEEDED)
DIE = _from_running("die", State.DEAD)
STOP = _from_running("stop", State.CANCELLED)
BACK_OFF = _from_running("back_off", State.SCHEDULED, yields=True)
SNOOZE = _from_running("snooze", State.SCHEDULED, yields=True)
RELEASE = _from_running("release", State.PENDING, yields=True)
RESCUE = _from_running("rescue", State.PENDING, yields=True)

MOVES = (
    PROMOTE,
    TRIGGER,
    POSTPONE,
    CLAIM,
    CANCEL,
    EXPIRE,
    DISCARD,
    RETRY,
    SUCCEED,
    DIE,
    STOP,
    BACK_OFF,
    SNOOZE,
    RELEASE,
    RESCUE,
)
