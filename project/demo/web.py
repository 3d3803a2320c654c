"""The show's web site."""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from . import processes
from .processes import ShowCannotGoOn


@dataclass(frozen=True, slots=True)
class WebSite:
    port: int
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def answers(self) -> bool:
        """Say whether somebody listens yet."""
        self.check()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def check(self) -> None:
        """Raise ``ShowCannotGoOn`` if it has ended."""
        if self.process.poll() is not None:
            raise ShowCannotGoOn(
                f"The web site was {processes.fate(self.process.returncode)}. Its output ends so:\n{processes.tail('web')}"
            )


@contextlib.contextmanager
def running() -> Iterator[WebSite]:
    """Serve the site, on a free port of this machine and to this machine only, while the block lasts."""
    port = _free_port()
    site = WebSite(port, processes.start("web", "runserver", "--noreload", f"127.0.0.1:{port}"))
    try:
        yield site
    finally:
        processes.stop([site.process])


def _free_port() -> int:
    """Return the port that people expect, or any that is free."""
    for port in (8000, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise ShowCannotGoOn("No port is free.")
