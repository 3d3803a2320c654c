"""Making due jobs ready, and telling the claimer and the janitor that there is work."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .. import maintenance
from ..conf import settings
from .claimer import Claimer
from .ticker import Ticker


class Scheduler(Ticker):
    """One survey each turn; a promotion, chunk by chunk, where the survey saw due jobs."""

    name = "scheduler"

    def __init__(self, claimer: Claimer, *, on_expired_lease: Callable[[], None], **ticker: Any) -> None:
        super().__init__(**ticker)
        self._claimer = claimer
        self._on_expired_lease = on_expired_lease

    def run_once(self) -> float:
        """Look once; the next turn comes with the next poll, or when the next scheduled job is due if that is earlier."""
        seen = maintenance.survey(using=self.using)
        if seen.expired_leases:
            self._on_expired_lease()
        self._claimer.note_survey(seen)
        poll = settings.poll_seconds * random.uniform(0.9, 1.1)  # noqa: S311
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
