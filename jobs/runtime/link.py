"""The line between a supervisor and a worker process: each end tells when the other is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress

LINK = "JOBS_SUPERVISOR_LINK"
REPLACES = "JOBS_REPLACES_WORKER"
READY = b"r"
WAITING = b"w"


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
    _say(link, READY)


def tell_waiting(link: socket.socket | None) -> None:
    """Say that this worker process is not ready because the database is away, and not because it hangs."""
    _say(link, WAITING)


def _say(link: socket.socket | None, word: bytes) -> None:
    if link is not None:
        with suppress(OSError):
            link.send(word)


def stop_without_supervisor(link: socket.socket, stop: Callable[[str], None]) -> None:
    """Wait for the link's end, which is the supervisor's death, and stop: nobody else would."""
    # A supervisor that dies with our word unread resets the link instead of ending it.
    with suppress(OSError):
        while link.recv(1):
            continue
    stop("the supervisor is gone")
