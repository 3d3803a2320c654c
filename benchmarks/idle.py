"""What a worker costs that has nothing to do."""

from __future__ import annotations

import time
from collections.abc import Iterator

from . import workers
from .database import Database
from .figures import Sample
from .scale import Scale

SETTLING_SECONDS = 2.0


def measure(scale: Scale, database: Database) -> Iterator[Sample]:
    """Watch one worker process with four slots and an empty table. Without /proc only its statements are counted."""
    database.empty()
    with workers.idle_worker(database) as pid:
        time.sleep(SETTLING_SECONDS)
        used, seen, began = workers.cpu_seconds(pid), database.transactions(), time.monotonic()
        time.sleep(scale.idle_seconds)
        used_after, seen_after, seconds = workers.cpu_seconds(pid), database.transactions(), time.monotonic() - began
        resident = workers.resident_bytes(pid)
    yield Sample("idle: statements", (seen_after - seen) / seconds, "1/s")
    if used is not None and used_after is not None:
        yield Sample("idle: CPU", (used_after - used) / seconds * 100, "%")
    if resident is not None:
        yield Sample("idle: memory", resident / 2**20, "MiB")
