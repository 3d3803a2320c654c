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
        self._claimer.note(pending=seen.pending, suspects=seen.suspects)
        poll = settings.poll_seconds * random.uniform(0.9, 1.1)  # noqa: S311
        if seen.next_run_in is None or seen.next_run_in > poll:
            return poll
        return 0.0 if self._promote(seen.next_run_in) else max(0.001, min(seen.next_run_in, poll))

    def _promote(self, next_run_in: float) -> bool:
        """Promote one chunk of due jobs; say whether to look again at once."""
        if next_run_in > 0:
            return False
        promoted = maintenance.promote(using=self.using)
        if promoted:
            self._claimer.note(pending=True, suspects=False)
        return promoted > 0
