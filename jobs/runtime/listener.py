"""Hearing NOTIFY: what makes an idle worker start a job within milliseconds instead of a poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connections

from .. import wakeups
from ..conf import settings
from ..wakeups import Wakeup
from .logs import log_of
from .sharing import has_own_session
from .ticker import Ticker

logger = log_of(__name__)

LISTEN_SECONDS = 0.5
PROOF_SECONDS = 15.0
DEAF_SECONDS = 3600.0


class Listener(Ticker):
    """
    LISTENs on a connection of its own; after each (re)LISTEN it has everything polled once.

    Behind PgBouncer in transaction mode nothing would be heard, and the LISTEN
    would stay in a session that others get next: there it says so and leaves
    everything to polling. Every ``PROOF_SECONDS`` a query proves that the
    connection lives.
    """

    name = "listener"

    def __init__(self, *, hear: Callable[[Wakeup], None], on_listening: Callable[[], None], **ticker: Any) -> None:
        super().__init__(**ticker)
        self._hear = hear
        self._on_listening = on_listening
        self._listening_on: Any = None
        self._quiet_seconds = 0.0
        self._is_deaf = False

    def run_once(self) -> float:
        """Listen for half a second, passing on what is heard; wait for good where nothing can be."""
        connection = self._listening()
        if connection is None:
            return DEAF_SECONDS
        with connections[self.using].wrap_database_errors:
            heard = {notify.payload for notify in connection.notifies(timeout=LISTEN_SECONDS, stop_after=1)}
            self._quiet_seconds = 0.0 if heard else self._quiet_seconds + LISTEN_SECONDS
            if self._quiet_seconds >= PROOF_SECONDS:
                self._quiet_seconds = 0.0
                connection.execute("SELECT 1")
        for payload in heard:
            self._hear(Wakeup.parse(payload))
        return 0.0

    def _listening(self) -> Any:
        """Return the psycopg connection that listens, LISTENing first on a new one, or None where that is no use."""
        if self._is_deaf:
            return None
        wrapper: Any = connections[self.using]
        wrapper.ensure_connection()
        if wrapper.connection is not self._listening_on:
            if not has_own_session(wrapper):
                return self._give_up(wrapper)
            with wrapper.cursor() as cursor:
                cursor.execute(f"LISTEN {wakeups.CHANNEL}")
            self._listening_on = wrapper.connection
            self._on_listening()
        return self._listening_on

    def _give_up(self, wrapper: Any) -> None:
        self._is_deaf = True
        wrapper.close()
        logger.warning(
            "notifications do not come through a pooler in transaction mode: polling every %s s", settings.poll_seconds
        )
