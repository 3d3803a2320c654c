"""Hearing NOTIFY: what makes an idle worker start a job within milliseconds instead of a poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connections

from .. import wakeups
from ..wakeups import Wakeup
from .ticker import Ticker

LISTEN_SECONDS = 0.5
PROOF_SECONDS = 15.0


class Listener(Ticker):
    """
    LISTENs on a connection of its own; after each (re)LISTEN it has everything polled once.

    Behind PgBouncer in transaction mode nothing is ever heard, and nothing is
    lost either. Every ``PROOF_SECONDS`` a query proves that the connection lives.
    """

    name = "listener"

    def __init__(self, *, hear: Callable[[Wakeup], None], on_listening: Callable[[], None], **ticker: Any) -> None:
        super().__init__(**ticker)
        self._hear = hear
        self._on_listening = on_listening
        self._listening_on: Any = None
        self._quiet_seconds = 0.0

    def run_once(self) -> float:
        """Listen for half a second, passing on what is heard."""
        connection = self._listening()
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
        """Return the psycopg connection that listens, LISTENing first on a new one."""
        wrapper: Any = connections[self.using]
        wrapper.ensure_connection()
        if wrapper.connection is not self._listening_on:
            with wrapper.cursor() as cursor:
                cursor.execute(f"LISTEN {wakeups.CHANNEL}")
            self._listening_on = wrapper.connection
            self._on_listening()
        return self._listening_on
