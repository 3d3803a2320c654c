"""The PostgreSQL of the demo, the tests and the benchmarks: one process starts it, owns it and stops it."""

import contextlib
import fcntl
import hashlib
import itertools
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from project import binaries

PROJECT = Path(__file__).resolve().parent.parent
VAR = PROJECT / "var" / "postgres"
DEADLY = (signal.SIGTERM, signal.SIGHUP)
ALWAYS = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200")


@contextlib.contextmanager
def running(name: str, *, fresh: bool = False, options: Sequence[str] = ()) -> Iterator[str]:
    """
    Keep a database up for the block, and its URL in ``DATABASE_URL`` for child processes.

    A ``DATABASE_URL`` that is already set wins. Otherwise this process owns a
    server and stops it on every way out, SIGTERM included. ``fresh`` starts
    empty and leaves nothing behind; without it the data of ``name`` is kept.
    ``options`` are server settings such as ``fsync=off``. A machine without
    PostgreSQL gets SQLite and is told so.
    """
    if url := os.environ.get("DATABASE_URL"):
        yield url
        return
    with _signals_unwind(), _owned(name, fresh=fresh) as server:
        os.environ["DATABASE_URL"] = url = server.start(options) if server else _sqlite(name)
        try:
            yield url
        finally:
            del os.environ["DATABASE_URL"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The programs of one server, and the folder for its data, its log and its password."""

    programs: binaries.Programs
    folder: Path

    @property
    def data(self) -> Path:
        """The cluster; one for each major version, since none reads another's."""
        return self.folder / f"data-{self.programs.major}"

    def start(self, options: Sequence[str]) -> str:
        """Return the URL at which the server answers."""
        if not self.data.exists():
            self._initdb()
        port, log = _free_port(), self.folder / "server.log"
        flags = shlex.join(f"--{option}" for option in (f"port={port}", *ALWAYS, *options))
        start = self._run("pg_ctl", "start", "-D", self.data, "-l", log, "-o", flags, check=False)
        if start.returncode:
            raise RuntimeError(f"PostgreSQL did not start: {start.stderr}{log.read_text()}")
        return self._url(port)

    def stop(self, *, mode: str = "fast") -> None:
        """Stop whatever runs on our data."""
        self._run("pg_ctl", "stop", "-D", self.data, "-m", mode, check=False)

    def stop_stale(self) -> None:
        """
        Stop the server that a killed owner left running.

        The pid it wrote down may be another program's by now, so it must first
        answer to our password at its port.
        """
        with contextlib.suppress(OSError, IndexError, psycopg.OperationalError):
            port = (self.data / "postmaster.pid").read_text().splitlines()[3]
            psycopg.connect(self._url(port), connect_timeout=5).close()
            self.stop()

    def _url(self, port: int | str) -> str:
        password = (self.data / "password").read_text()
        return f"postgres://postgres:{password}@127.0.0.1:{port}/postgres"

    def _run(self, program: str, *arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        with _signals_wait():
            return self.programs.run(program, *arguments, cwd=self.folder, check=check)

    def _initdb(self) -> None:
        # Half a cluster, after a kill, looks like a whole one, hence the draft.
        draft = self.folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        # From 17 on there is a locale that lowers every alphabet and exists on every machine.
        locale = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8") if self.programs.major >= 17 else ()
        password = self._new_password()
        access = ("--username=postgres", "--auth=scram-sha-256", f"--pwfile={password}")
        self._run("initdb", "-D", draft, *access, "--encoding=UTF8", "--no-locale", *locale, "--no-sync")
        password.rename(draft / password.name)
        draft.rename(self.data)

    def _new_password(self) -> Path:
        path = self.folder / "password"
        path.unlink(missing_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        binaries.give(path, self.programs.account)
        path.write_text(secrets.token_hex())
        return path


@contextlib.contextmanager
def _owned(name: str, *, fresh: bool) -> Iterator[Server | None]:
    with _slot(name) as slot, contextlib.ExitStack() as cleanup:
        account = binaries.unprivileged()
        folder = _folder(slot, account)
        if fresh:
            cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        programs = binaries.find(account, scratch=folder)
        if programs is None:
            yield None
            return
        server = Server(programs=programs, folder=folder)
        server.stop_stale()
        if fresh:
            shutil.rmtree(server.data, ignore_errors=True)
        cleanup.callback(server.stop, mode="immediate" if fresh else "fast")
        yield server


@contextlib.contextmanager
def _slot(name: str) -> Iterator[str]:
    """
    Own the first free of ``name-1``, ``name-2``, and so on.

    The kernel drops the lock of an owner that was killed, so the next to get it
    may clear up behind that one.
    """
    VAR.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        slot = f"{name}-{number}"
        with (VAR / f"{slot}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield slot
            return


def _folder(slot: str, account: binaries.Account) -> Path:
    """Make the slot's folder: in the project or, as another account may not be let in there, in /var/tmp."""
    folder = VAR / slot
    if account:
        project = hashlib.sha256(bytes(PROJECT)).hexdigest()[:12]
        folder = Path("/var/tmp", f"django-durable-jobs-{project}-{slot}")  # noqa: S108
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid not in {os.geteuid(), account and account.pw_uid}:
        raise RuntimeError(f"{folder} belongs to somebody else: remove it.")
    binaries.give(folder, account)
    return folder


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _sqlite(name: str) -> str:
    sys.stderr.write(f"No PostgreSQL {binaries.LOWEST_MAJOR} or later was found: using SQLite, which is slower.\n")
    return f"sqlite:///{VAR / name}.sqlite3"


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold signals back: a start cut short would leave a server that has no pid file yet."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *DEADLY})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextlib.contextmanager
def _signals_unwind() -> Iterator[None]:
    """Let a deadly signal raise KeyboardInterrupt, as Ctrl-C does, so that blocks are left in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deadly = [number for number in DEADLY if signal.getsignal(number) is signal.SIG_DFL]
    for number in deadly:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in deadly:
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    # python -m project.postgres COMMAND...: run it beside a server of its own.
    with running("command", fresh=True):
        sys.exit(subprocess.call(sys.argv[1:]))
