"""The parent of several worker processes: starts them, replaces those that die, and passes signals on."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType

from django.utils.autoreload import get_child_arguments

from .exits import EXIT_DRAINED, EXIT_OK, EXIT_RELOAD, EXPECTED_EXITS
from .shutdown import longest_end

logger = logging.getLogger(__name__)

LINK = "JOBS_SUPERVISOR_LINK"
REPLACES = "JOBS_REPLACES_WORKER"
READY = b"r"
READY_SECONDS = 60.0
LOOK_SECONDS = 0.2
STEADY_SECONDS = 30.0
LONGEST_PAUSE = 30.0


class Child:
    """One place for a worker process, and whoever fills it now."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process: subprocess.Popen[bytes] | None = None
        self.code: int | None = None
        self.is_ready = False
        self.is_done = False
        self.started = 0.0
        self.start_after = 0.0
        self._failures = 0
        self._link: socket.socket | None = None

    @property
    def is_alive(self) -> bool:
        return self.process is not None

    @property
    def link(self) -> socket.socket | None:
        return self._link

    def start(self) -> None:
        """
        Start a fresh interpreter with this process's own command line.

        In a session of its own, or Ctrl-C in a terminal would reach it twice.
        The link tells each side when the other is gone.
        """
        ours, theirs = socket.socketpair()
        environment = os.environ | {LINK: str(theirs.fileno())}
        if self.code not in (None, EXIT_RELOAD):
            environment[REPLACES] = "1"
        self.process = subprocess.Popen(  # noqa: S603 (this process's own command line)
            get_child_arguments(), env=environment, pass_fds=[theirs.fileno()], start_new_session=True
        )
        theirs.close()
        self._link, self.is_ready, self.started = ours, False, time.monotonic()
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
        self._plan_replacement(code)

    def hear(self) -> None:
        """Take the word that the process is ready."""
        if self._link is not None and self._link.recv(1) == READY:
            self.is_ready = True

    def send(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def _kill_if_it_hangs(self) -> None:
        if not self.is_ready and time.monotonic() - self.started > READY_SECONDS:
            logger.error("worker process not ready in %s s, killed number=%s", READY_SECONDS, self.number)
            self.send(signal.SIGKILL)

    def _plan_replacement(self, code: int) -> None:
        if self._link is not None:
            self._link.close()
        self.process, self._link, self.code = None, None, code
        was_steady = time.monotonic() - self.started > STEADY_SECONDS
        self._failures = 0 if was_steady or code in EXPECTED_EXITS else self._failures + 1
        pause = min(0.5 * 2**self._failures, LONGEST_PAUSE) if self._failures else 0.0
        self.start_after = time.monotonic() + pause


class Supervisor:
    """
    Keeps ``processes`` workers alive until a signal, or in a burst until all have finished.

    A first SIGTERM or SIGINT is passed on, and the workers get ``grace``
    seconds and a little more before they are killed; a second one ends all at once.
    """

    def __init__(self, *, processes: int, burst: bool, grace: float) -> None:
        self._children = [Child(number) for number in range(1, processes + 1)]
        self._burst = burst
        self._patience = grace + longest_end()
        self._signal: int | None = None
        self._kill_at: float | None = None

    def run(self) -> int:
        """Return the exit code: 0 after a stop that was asked for, in a burst the worst of the workers', 76 if all were drained."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        while not self._is_finished():
            self._start_missing()
            self._wait()
            for child in self._children:
                child.look()
            self._kill_the_late()
        return self._exit_code()

    def _exit_code(self) -> int:
        codes = [child.code or EXIT_OK for child in self._children]
        if all(code == EXIT_DRAINED for code in codes):
            return EXIT_DRAINED
        return max(codes) if self._burst else EXIT_OK

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._signal is not None:
            for child in self._children:
                child.send(signal.SIGKILL)
            os._exit(128 + number)
        self._signal = number
        self._kill_at = time.monotonic() + self._patience
        for child in self._children:
            child.send(signal.SIGTERM)

    def _is_finished(self) -> bool:
        if self._signal is not None:
            return not any(child.is_alive for child in self._children)
        return all(child.is_done for child in self._children)

    def _start_missing(self) -> None:
        for child in self._children:
            if child.is_alive or self._signal is not None or child.is_done:
                continue
            child.is_done = child.code == EXIT_DRAINED or (self._burst and child.code == EXIT_OK)
            if not child.is_done and time.monotonic() >= child.start_after:
                child.start()

    def _wait(self) -> None:
        silent = [child for child in self._children if child.link is not None and not child.is_ready]
        links: Mapping[socket.socket, Child] = {child.link: child for child in silent if child.link is not None}
        readable, _, _ = select.select(list(links), [], [], LOOK_SECONDS)
        for link in readable:
            links[link].hear()
        if readable:
            time.sleep(0.01)

    def _kill_the_late(self) -> None:
        if self._kill_at is not None and time.monotonic() > self._kill_at:
            for child in self._children:
                child.send(signal.SIGKILL)


def link_to_supervisor() -> socket.socket | None:
    """Return this process's end of the link if a supervisor started it, else None."""
    number = os.environ.pop(LINK, None)
    if not number:
        return None
    link = socket.socket(fileno=int(number))
    link.set_inheritable(False)
    return link


def replaces_another() -> bool:
    """Say whether this process carries on for one with the same code."""
    return bool(os.environ.pop(REPLACES, ""))


def tell_ready(link: socket.socket | None) -> None:
    """Say that this worker process is ready, if there is a supervisor to hear it."""
    if link is not None:
        with suppress(OSError):
            link.send(READY)


def stop_without_supervisor(link: socket.socket, stop: Callable[[str], None]) -> None:
    """Wait for the link's end, which is the supervisor's death, and stop: nobody else would."""
    # A supervisor that dies with our word unread resets the link instead of ending it.
    with suppress(OSError):
        while link.recv(1):
            continue
    stop("the supervisor is gone")


def set_title(text: str) -> None:
    """Show ``text`` in process lists, where the ``setproctitle`` package is installed (the extra ``title``)."""
    try:
        from setproctitle import setproctitle
    except ImportError:
        return
    setproctitle(f"jobs: {text} [{os.path.basename(sys.argv[0])}]")
