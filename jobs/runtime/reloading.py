"""Noticing that the code has changed, for development."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.utils.autoreload import StatReloader

LOOK_SECONDS = 1.0


class CodeWatch(threading.Thread):
    """Calls ``on_change`` with the path once a file of a loaded module is newer than it was, and ends."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        super().__init__(name="jobs-code-watch", daemon=True)
        self._on_change = on_change
        self._ended = threading.Event()

    def run(self) -> None:
        files = StatReloader()
        before = dict(files.snapshot_files())
        while not self._ended.wait(LOOK_SECONDS):
            for path, changed_at in files.snapshot_files():
                if changed_at != before.setdefault(path, changed_at):
                    self._on_change(str(path))
                    return

    def stop(self) -> None:
        self._ended.set()
