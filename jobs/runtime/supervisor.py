"""The parent of several worker processes: starts them, replaces those that die, and passes signals on."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from types import FrameType

from .child import Child
from .exits import EXIT_BROKEN, EXIT_DRAINED, EXIT_OK
from .shutdown import longest_end
from .stopping import take_signals

LOOK_SECONDS = 0.2


class Supervisor:
    """
    Keeps ``processes`` workers alive until a signal, or in a burst until all have finished.

    A first SIGTERM, SIGINT or SIGHUP is passed on, and the workers get ``grace``
    seconds and a little more before they are killed; a second one ends all at once.
    """

    def __init__(self, *, processes: int, burst: bool, grace: float) -> None:
        self._children = [Child(number) for number in range(1, processes + 1)]
        self._burst = burst
        self._patience = grace + longest_end()
        self._signal: int | None = None
        self._kill_at: float | None = None

    def run(self) -> int:
        """
        Return the exit code once all is over.

        76 if all workers were drained; in a burst 1 if one of them could not even start; else 0.
        """
        take_signals(self._on_signal)
        while not self._is_finished():
            self._start_missing()
            self._wait()
            for child in self._children:
                child.look()
            self._stop_all()
        return self._exit_code()

    def _exit_code(self) -> int:
        codes = {child.code for child in self._children}
        if codes == {EXIT_DRAINED}:
            return EXIT_DRAINED
        could_not_start = self._signal is None and not codes <= {EXIT_OK, EXIT_DRAINED}
        return EXIT_BROKEN if could_not_start else EXIT_OK

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        # A first signal is passed on by the loop: it may come while a process is being started.
        if self._signal is not None:
            for child in self._children:
                child.send(signal.SIGKILL)
            os._exit(128 + number)
        self._kill_at = time.monotonic() + self._patience
        self._signal = number

    def _is_finished(self) -> bool:
        if self._signal is not None:
            return not any(child.is_alive for child in self._children)
        return all(self._is_done(child) for child in self._children)

    def _is_done(self, child: Child) -> bool:
        """Whether nobody is to fill this place any more. A burst gives up a place where a process could not even start."""
        if child.is_alive or child.code is None:
            return False
        if child.code == EXIT_DRAINED:
            return True
        return self._burst and (child.code == EXIT_OK or not child.was_ready)

    def _start_missing(self) -> None:
        for child in self._children:
            if self._signal is None and child.may_start and not self._is_done(child):
                child.start()

    def _wait(self) -> None:
        links: Mapping[socket.socket, Child] = {
            child.silent_link: child for child in self._children if child.silent_link is not None
        }
        readable, _, _ = select.select(list(links), [], [], LOOK_SECONDS)
        for link in readable:
            links[link].hear()
        if readable:
            time.sleep(0.01)

    def _stop_all(self) -> None:
        if self._signal is None or self._kill_at is None:
            return
        for child in self._children:
            child.stop()
            if time.monotonic() > self._kill_at:
                child.send(signal.SIGKILL)


def set_title(text: str) -> None:
    """Show ``text`` in process lists, where the ``setproctitle`` package is installed (the extra ``title``)."""
    try:
        from setproctitle import setproctitle
    except ImportError:
        return
    setproctitle(f"jobs: {text} [{os.path.basename(sys.argv[0])}]")
