"""Making due jobs ready and due schedules jobs, and telling the claimer and the janitor that there is work."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from django.db import OperationalError, connections

from .. import maintenance, schedules
from ..conf import settings
from ..maintenance import Survey
from .claimer import Claimer
from .logs import log_of
from .ticker import Ticker

logger = log_of(__name__)


class Scheduler(Ticker):
    """
    One survey each turn; a tick of schedules and a promotion, batch by batch, where the survey saw any due.

    ``is_idle`` says that the last turn found nothing to do, or nothing that could be done.
    """

    name = "scheduler"

    def __init__(self, claimer: Claimer, *, on_expired_lease: Callable[[], None], **ticker: Any) -> None:
        super().__init__(**ticker)
        self._claimer = claimer
        self._on_expired_lease = on_expired_lease
        self._tick_fails = False
        self.is_idle = False

    def run_once(self) -> float:
        """Look once; the next turn comes with the next poll, or when the next job or slot is due if that is earlier."""
        seen = maintenance.survey(using=self.using)
        if seen.expired_leases:
            self._on_expired_lease()
        self._claimer.note_survey(seen)
        poll = settings.poll_seconds * random.uniform(0.9, 1.1)  # noqa: S311
        # Jobs first: whatever is wrong with a schedule, retries and delayed jobs go on.
        pause = min(self._until_next_job(seen, poll), self._until_next_slot(seen, poll))
        self.is_idle = pause > 0
        return pause

    def _until_next_slot(self, seen: Survey, poll: float) -> float:
        is_due = seen.next_slot_in is not None and seen.next_slot_in <= 0
        if (is_due or seen.waiting_slots) and self._tick():
            return 0.0
        # Nothing done though some are due: another worker was first, or knows the kind.
        return poll if is_due or seen.next_slot_in is None else min(seen.next_slot_in, poll)

    def _tick(self) -> bool:
        """Do what schedules have to do; say whether any did something. A tick that fails is no outage of the database."""
        try:
            done = schedules.tick(using=self.using)
        except OperationalError as error:
            if not connections[self.using].is_usable():
                raise
            if not self._tick_fails:
                logger.warning("schedules wait error=%s", " ".join(str(error).split()))
            self._tick_fails = True
            return False
        self._tick_fails = False
        if done:
            self._claimer.note_ready()
        return done > 0

    def _until_next_job(self, seen: Survey, poll: float) -> float:
        if seen.next_run_in is None:
            return poll
        if seen.next_run_in > 0:
            return min(seen.next_run_in, poll)
        # None promoted though some are due: somebody holds them, or another worker was first.
        return 0.0 if self._promote() else poll

    def _promote(self) -> bool:
        """Promote one chunk of due jobs; say whether there were any."""
        promoted = maintenance.promote(using=self.using)
        if promoted:
            self._claimer.note_ready()
        return promoted > 0
