"""A thread that does one thing again and again, and survives the database going away."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, connections

from ..conf import settings
from .logs import log_of
from .outages import is_outage
from .own_connection import use_own_connection

logger = log_of(__name__)

MOST_FAILURES = 5
LONGEST_PAUSE = 5.0


class Ticker:
    """
    Calls ``run_once`` until stopped; tests call it directly.

    ``run_once`` returns how many seconds to wait before the next turn, unless
    ``wake`` is called first. Database errors close the connection and are
    tried again with backoff, with one log line when they begin and one when
    they end. Any other error five times in a row takes the worker down.
    """

    name = "ticker"

    def __init__(self, *, using: str, on_outage: Callable[[], None], on_death: Callable[[str], None]) -> None:
        self.using = using
        self._on_outage = on_outage
        self._on_death = on_death
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._failures = 0
        self._outages = 0
        self._is_cut_off = False
        self._thread = threading.Thread(target=self._loop, name=f"jobs-{self.name}", daemon=True)

    def run_once(self) -> float:
        raise NotImplementedError

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Make the next turn come now. Cheap when it is already coming."""
        if not self._woken.is_set():
            self._woken.set()

    def stop(self, *, timeout: float = 10.0) -> None:
        """Finish the present turn and end; a second call does nothing."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _loop(self) -> None:
        use_own_connection(self.using)
        try:
            while not self._stopping.is_set():
                pause = self._turn()
                if pause > 0:
                    self._woken.wait(pause)
                self._woken.clear()
            connections.close_all()
        finally:
            if not self._stopping.is_set():
                self._on_death(f"{self.name} has ended")

    def _turn(self) -> float:
        try:
            pause = self.run_once()
        except (DatabaseError, InterfaceError) as error:
            return self._after_outage(error)
        except Exception:
            logger.exception("ticker failed ticker=%s", self.name)
            return self._after_failure()
        self._recovered()
        return pause

    def _after_outage(self, error: Exception) -> float:
        if not self._outages:
            logger.warning("database error ticker=%s error=%s", self.name, " ".join(str(error).split()))
        self._outages += 1
        connections[self.using].close()
        # When it begins and when it ends. Not at each try: one connection that
        # cannot be made again must not keep all others from their rescues.
        if self._concerns_all(error) and not self._is_cut_off:
            self._is_cut_off = True
            self._on_outage()
        return self._backoff(self._outages)

    def _concerns_all(self, error: Exception) -> bool:
        """Whether others may have lost their leases by the same."""
        return is_outage(error)

    def _after_failure(self) -> float:
        self._failures += 1
        connections[self.using].close()
        if self._failures >= MOST_FAILURES:
            self._stopping.set()
            self._on_death(f"{self.name} failed {self._failures} times in a row")
        return self._backoff(self._failures)

    def _backoff(self, turns: int) -> float:
        # Others wait one heartbeat after an outage before they rescue: whoever survived must be back by then.
        most = min(LONGEST_PAUSE, settings.heartbeat_seconds / 2)
        longest: float = min(0.1 * 2 ** min(turns, 10), most)
        return longest * random.uniform(0.5, 1)  # noqa: S311

    def _recovered(self) -> None:
        if self._outages:
            logger.warning("database is back ticker=%s", self.name)
        if self._is_cut_off:
            self._is_cut_off = False
            self._on_outage()
        self._outages = self._failures = 0
