"""Real worker processes for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from tests.working import wait_until

# A lease that expires within the test, unless it is to outlast whatever keeps a busy machine from a heartbeat.
PATIENT = {"LEASE_SECONDS": 60}
FAST = {"LEASE_SECONDS": 2, "HEARTBEAT_SECONDS": 0.5, "POLL_SECONDS": 0.05, "GRACE_SECONDS": 10}


class WorkerProcess:
    """
    ``manage.py runworkers`` on the test database; killed at the end of the block if it still runs.

    ``before`` is a command that runs it elsewhere, such as ``ip netns exec``.
    """

    def __init__(
        self, database_url: str, *arguments: str, settings: dict[str, Any] | None = None, before: Sequence[str] = ()
    ) -> None:
        environment = os.environ | {
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "JOBS_TEST_SETTINGS": json.dumps(FAST | (settings or {})),
        }
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "django", "runworkers", *arguments],
            env=environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = 30) -> int:
        return self.process.wait(seconds)

    def wait_until_live(self) -> Any:
        """Return the worker's row once it is there."""
        from jobs.models import Worker

        return wait_until(lambda: Worker.objects.filter(pid=self.pid).first())

    def output(self) -> str:
        """Return all it has printed until now."""
        # A line may be half written, in the middle of a character.
        return os.pread(self._log.fileno(), 10_000_000, 0).decode(errors="replace")

    def heard(self, text: str) -> bool:
        """Whether it has printed ``text``."""
        return text in self.output()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if error is not None:
            sys.stderr.write(self.output())
        self._log.close()
