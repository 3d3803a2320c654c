"""A PostgreSQL server of a test's own, to be restarted and cut off."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from project import postgres

# Survives its own crash, though not the machine's: commits must be in the log.
OPTIONS = ("fsync=off",)


class OwnServer:
    """A server with the tables of jobs in it; ``one`` and ``execute`` look in from outside."""

    def __init__(self, server: postgres.Server, url: str) -> None:
        self._server = server
        self.url = url

    def execute(self, statement: str, *params: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, params)
            return cursor.fetchall() if cursor.description else []

    def one(self, statement: str, *params: Any) -> Any:
        return self.execute(statement, *params)[0][0]

    def count(self, condition: str) -> int:
        return int(self.one(f"SELECT count(*) FROM jobs_job WHERE {condition}"))

    def manage(self, *arguments: str) -> None:
        environment = os.environ | {"DATABASE_URL": self.url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        subprocess.run([sys.executable, "-m", "django", *arguments], env=environment, check=True, capture_output=True)

    def enqueue(self, kind: str, payload: str = "{}", *, times: int = 1, **columns: Any) -> None:
        """Insert jobs by SQL, since Django's own connection is to the database of the other tests."""
        values = {"max_attempts": 8} | columns
        self.execute(
            "INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, max_attempts, "
            "backoff_base, backoff_cap, backoff_jitter, metadata) SELECT %s, '[]', %s, 'default', 0, 'pending', now(), now(), "
            "%s, 1, 1, 0, '{}' FROM generate_series(1, %s)",
            kind,
            payload,
            values["max_attempts"],
            times,
        )

    def stop(self) -> None:
        self._server._run("pg_ctl", "stop", "-D", self._server.data, "-m", "immediate")

    def start_again(self) -> None:
        """Start on the same port, through crash recovery."""
        port = self.url.split(":")[-1].split("/")[0]
        # Of two equal options the last counts, so this wins over the free port that start() picks.
        self._server.start((f"port={port}", *OPTIONS))

    def terminate(self, condition: str) -> int:
        return len(
            self.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                f"AND pid <> pg_backend_pid() AND {condition}"
            )
        )


@contextmanager
def own_server() -> Iterator[OwnServer]:
    with postgres._owned("chaos", fresh=True) as server:
        assert server is not None, "these proofs need PostgreSQL's programs"
        one = OwnServer(server, server.start(OPTIONS))
        one.manage("migrate", "--verbosity=0", "--run-syncdb")
        yield one
