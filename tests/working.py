"""Running whole workers in tests, and handlers that record what they see."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections

from jobs.runtime.plan import Plan
from jobs.runtime.worker import Worker
from tests.leasing import in_threads


def wait_until(condition: Callable[[], Any], *, seconds: float = 20.0) -> Any:
    """Return the first true value of ``condition``, asked every 10 ms; fail the test after ``seconds``."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError(f"{condition} did not come true within {seconds} s")


def burst(**plan: Any) -> int:
    """Run a worker until nothing is due; return its exit code."""
    worker = Worker(Plan(burst=True, **plan))
    (code,) = in_threads(worker.run)
    wait_for_threads(worker)
    if isinstance(code, Exception):
        raise code
    return int(code)


def wait_for_threads(worker: Worker) -> None:
    """Wait for what a worker has left at its end, which waits for no thread for long: the next test's rows are not for it."""
    for ticker in worker._tickers:
        ticker.stop(timeout=30)


class Running:
    """A worker in a thread of its own. ``code`` is its exit code once it has ended."""

    def __init__(self, **plan: Any) -> None:
        self.worker = Worker(Plan(**plan))
        self.code: int | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self.code = self.worker.run()
        finally:
            connections.close_all()

    def end(self) -> int | None:
        self.worker.stop()
        self.thread.join(30)
        wait_for_threads(self.worker)
        return self.code


@contextmanager
def running(**plan: Any) -> Iterator[Running]:
    """Run a worker for the block, and stop it at the end."""
    one = Running(**plan)
    one.thread.start()
    try:
        yield one
    finally:
        one.end()
