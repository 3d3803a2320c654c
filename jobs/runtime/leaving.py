"""Ending the process, whatever threads handlers have left in it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Any

from .calling import call
from .exits import EXIT_BROKEN, EXIT_OK

EXIT_SECONDS = 5.0


def leave(code: int, *, all_threads_ended: bool) -> None:
    """Exit: at once where a handler's thread would keep the process alive."""
    if not all_threads_ended:
        _end_at_once(code)
    sys.exit(code)


def leave_in_time(code: Any) -> None:
    """Give threads that handlers have started a few seconds to end, from now on; ``code`` is what SystemExit has."""
    number = EXIT_OK if code is None else code if isinstance(code, int) else EXIT_BROKEN
    last = threading.Timer(EXIT_SECONDS, _end_at_once, [number])
    last.daemon = True
    last.start()


def _end_at_once(code: int) -> None:
    # Each may be closed or broken by now.
    call(logging.shutdown)
    call(lambda: sys.stdout.flush())
    call(lambda: sys.stderr.flush())
    os._exit(code)
