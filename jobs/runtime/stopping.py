"""Why a worker process ends, with which exit code, and in what hurry."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from .exits import EXIT_OK
from .logs import log_of

logger = log_of(__name__)


def take_signals(handler: Callable[[int, FrameType | None], Any]) -> None:
    """Have SIGTERM, SIGINT and SIGHUP handled; call it in the main thread. What nohup has set stays."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and not (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
            signal.signal(number, handler)


class Stopping:
    """
    The stop of one worker: the first reason counts, and its exit code.

    A worker that is only due to be replaced, or was drained, lets running
    jobs finish, however long they take, until something else hurries it.
    """

    def __init__(self, worker: str) -> None:
        self.reason = "finished"
        self.code = EXIT_OK
        self._worker = worker
        self._begun = threading.Event()
        self._hurried = threading.Event()
        self._signal = 0
        self._is_supervised = False

    @property
    def has_begun(self) -> bool:
        self._take_in_the_signal()
        return self._begun.is_set()

    @property
    def is_hurried(self) -> bool:
        """Whether running jobs get the grace and no more."""
        self._take_in_the_signal()
        return self._hurried.is_set()

    def begin(self, reason: str) -> None:
        """Begin to stop, or hurry up: from any thread."""
        self._begin(reason, EXIT_OK)
        self._hurried.set()

    def fail(self, code: int, reason: str) -> None:
        """Do as ``begin``, with an exit code of its own, and say so in the log."""
        if self._begin(reason, code):
            logger.warning("worker ends worker=%s code=%s reason=%s", self._worker, code, reason)
        self._hurried.set()

    def recycle(self, code: int, reason: str) -> None:
        """Begin to stop without a hurry, and say so in the log."""
        if self._begin(reason, code):
            logger.info("worker ends worker=%s code=%s reason=%s", self._worker, code, reason)

    def handle_signals(self, *, supervised: bool) -> None:
        """
        Stop on the first signal; exit at once on the second. Call it in the main thread.

        A ``supervised`` process only stops: it gets the signal that its
        supervisor passes on, and may get the same one from systemd too.
        """
        self._is_supervised = supervised
        take_signals(self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        # No more than this: a handler that meets a lock of the thread it interrupts would wait for itself.
        if self._signal and not self._is_supervised:
            os._exit(128 + number)
        self._signal = number

    def _take_in_the_signal(self) -> None:
        if self._signal and not self._hurried.is_set():
            self.begin(signal.Signals(self._signal).name)

    def _begin(self, reason: str, code: int) -> bool:
        if self._begun.is_set():
            return False
        self.reason, self.code = reason, code
        self._begun.set()
        return True
