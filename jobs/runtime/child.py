"""One of a supervisor's worker processes: started, watched until it is ready, and replaced with patience."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress

from django.utils.autoreload import get_child_arguments

from .exits import EXIT_RELOAD, EXPECTED_EXITS
from .link import LINK, READY, REPLACES, WAITING
from .logs import log_of

logger = log_of(__name__)

READY_SECONDS = 60.0
STEADY_SECONDS = 30.0
LONGEST_PAUSE = 30.0


class Child:
    """
    One place for a worker process, and whoever fills it now.

    ``code`` is how the last one ended, None before that; ``was_ready`` whether
    it had got as far as to work.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: subprocess.Popen[bytes] | None = None
        self.code: int | None = None
        self.was_ready = False
        self._start_after = 0.0
        self._ready_by = 0.0
        self._started = 0.0
        self._failures = 0
        self._has_predecessor = False
        self._is_stopping = False
        self._link: socket.socket | None = None

    @property
    def is_alive(self) -> bool:
        return self.process is not None

    @property
    def may_start(self) -> bool:
        """Whether the place is empty, and has been for long enough."""
        return self.process is None and time.monotonic() >= self._start_after

    @property
    def silent_link(self) -> socket.socket | None:
        """Where this process will say that it is ready; None once it has, or is gone."""
        return None if self.was_ready else self._link

    def start(self) -> None:
        """
        Start a fresh interpreter with this process's own command line; if that fails, try again later.

        In a session of its own, or Ctrl-C in a terminal would reach it twice.
        """
        ours, theirs = socket.socketpair()
        environment = os.environ | {LINK: str(theirs.fileno())}
        # Only after one that worked with this code: what a worker does first of all may not have been done yet.
        if self._has_predecessor and self.code != EXIT_RELOAD:
            environment[REPLACES] = "1"
        self._link, self.was_ready, self._is_stopping = ours, False, False
        self._started = time.monotonic()
        self._ready_by = self._started + READY_SECONDS
        with theirs:
            try:
                self.process = subprocess.Popen(  # noqa: S603 (this process's own command line)
                    get_child_arguments(), env=environment, pass_fds=[theirs.fileno()], start_new_session=True
                )
            except OSError as error:
                logger.error("worker process not started number=%s error=%s", self.number, error)
                self._ended(1)
                return
        logger.info("worker process started number=%s pid=%s", self.number, self.process.pid)

    def look(self) -> None:
        """Notice that the process has ended, or failed to become ready, and plan its replacement."""
        if self.process is None:
            return
        code = self.process.poll()
        if code is None:
            self._kill_if_it_hangs()
            return
        logger.log(
            logging.INFO if code in EXPECTED_EXITS else logging.ERROR,
            "worker process ended number=%s pid=%s code=%s",
            self.number,
            self.process.pid,
            code,
        )
        self._hear_the_rest()
        self._ended(code)

    def hear(self) -> bytes:
        """Take the word that the process is ready, or that it waits for the database and does not hang; return it."""
        word = b"" if self._link is None else self._link.recv(1)
        if word == READY:
            self.was_ready = self._has_predecessor = True
        elif word == WAITING:
            self._ready_by = time.monotonic() + READY_SECONDS
        return word

    def stop(self) -> None:
        """Pass the stop on, once to each process."""
        if not self._is_stopping:
            self._is_stopping = True
            self.send(signal.SIGTERM)

    def send(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def _hear_the_rest(self) -> None:
        """Take what it said before it ended, without waiting: a process that a handler forked may keep the line open."""
        assert self._link is not None  # noqa: S101 (it has one for as long as a process)
        self._link.settimeout(0)
        with suppress(OSError):
            while self.hear():
                continue

    def _kill_if_it_hangs(self) -> None:
        if not self.was_ready and time.monotonic() > self._ready_by:
            logger.error("worker process not ready in %s s, killed number=%s", READY_SECONDS, self.number)
            self.send(signal.SIGKILL)

    def _ended(self, code: int) -> None:
        if self._link is not None:
            self._link.close()
        self.process, self._link, self.code = None, None, code
        was_steady = time.monotonic() - self._started > STEADY_SECONDS
        self._failures = 0 if was_steady or code in EXPECTED_EXITS else self._failures + 1
        # The exponent is capped first: after a night of deaths the power would be too large for a float.
        pause = min(0.5 * 2 ** min(self._failures, 10), LONGEST_PAUSE) if self._failures else 0.0
        self._start_after = time.monotonic() + pause
