"""PgBouncer in front of a server, as many sites run it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from project import binaries, postgres

# Where the server is when the whole suite runs through a pooler.
DIRECT = "JOBS_TEST_DIRECT_URL"

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
PATIENCE_SECONDS = 10.0

needs_a_session = pytest.mark.skipif(
    os.environ.get("JOBS_TEST_DB") == "pooler", reason="needs a session of the server's to itself"
)

# Any database of the server, so that test databases can be made through it.
# Whoever gets a connection gets it with what others have left in its session:
# in transaction mode nothing is reset.
CONFIG = """
[databases]
* = host={host} port={port} user={user} password={password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 40
max_client_conn = 1000
server_idle_timeout = 30
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


@contextmanager
def running(url: str, *, mode: str = "transaction") -> Iterator[str]:
    """Keep PgBouncer up for the block; the value is the URL by which it leads to the database at ``url``."""
    if PROGRAM is None:
        raise RuntimeError("There is no PgBouncer here: install Debian's package pgbouncer.")
    with tempfile.TemporaryDirectory(prefix="jobs-pooler-") as name:
        folder, port = Path(name), postgres._free_port()
        process = _start(folder, url, listen_port=port, mode=mode)
        try:
            _wait_until_up(process, folder, port)
            yield urlsplit(url)._replace(netloc=f"postgres:any@127.0.0.1:{port}").geturl()
        finally:
            process.terminate()
            process.wait()


def direct_url(database_url: str) -> str:
    """Return the URL of the same database without the pooler that the whole suite may run through."""
    direct = urlsplit(os.environ.get(DIRECT, database_url))
    return direct._replace(path=urlsplit(database_url).path).geturl()


def _start(folder: Path, url: str, *, listen_port: int, mode: str) -> subprocess.Popen[bytes]:
    parts = urlsplit(url)
    config = folder / "pgbouncer.ini"
    config.write_text(
        CONFIG.format(
            folder=folder,
            mode=mode,
            listen_port=listen_port,
            host=parts.hostname,
            port=parts.port,
            user=parts.username,
            password=parts.password,
        )
    )
    # It refuses to run as root.
    account = binaries.unprivileged()
    for path in (folder, config):
        binaries.give(path, account)
    who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    return subprocess.Popen([PROGRAM, "--quiet", config], cwd=folder, **who)  # type: ignore[call-overload, no-any-return]


def _wait_until_up(process: subprocess.Popen[bytes], folder: Path, port: int) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < until:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"PgBouncer did not start: {(folder / 'pgbouncer.log').read_text()}")
