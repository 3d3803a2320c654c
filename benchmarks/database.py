"""A database of the benchmarks' own, on the server that was given."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Identifier

EMPTY = "TRUNCATE jobs_job, jobs_jobrun, jobs_jobevent, jobs_queue, jobs_worker"

PENDING = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, metadata)
SELECT %(kind)s, '[]', '{}', 'default', 0, 'pending', STATEMENT_TIMESTAMP(), STATEMENT_TIMESTAMP(), 8, 2, 300, 0.3, '{}'
  FROM GENERATE_SERIES(1, %(rows)s)
"""

# Half of these would be claimed first if they were due: their priority is higher.
FUTURE = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, metadata)
SELECT 'bench.noop', '[]', '{}', 'default', n %% 2, 'scheduled',
       STATEMENT_TIMESTAMP() + INTERVAL '1 day' + n * INTERVAL '1 ms', STATEMENT_TIMESTAMP(), 8, 2, 300, 0.3, '{}'
  FROM GENERATE_SERIES(1, %(rows)s) AS n
"""

FINISHED = """
WITH finished AS (
    INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, finished_at, max_attempts,
                          backoff_base, backoff_cap, backoff_jitter, metadata, claim_no, attempt)
    SELECT 'bench.noop', '[]', '{}', 'default', 0, 'succeeded',
           STATEMENT_TIMESTAMP() - INTERVAL '1 hour', STATEMENT_TIMESTAMP() - INTERVAL '1 hour',
           STATEMENT_TIMESTAMP() - INTERVAL '1 hour' + n * INTERVAL '1 ms', 8, 2, 300, 0.3, '{}', 1, 1
      FROM GENERATE_SERIES(1, %(rows)s) AS n
 RETURNING id, finished_at
)
INSERT INTO jobs_jobrun (job_id, attempt, claim_no, worker, outcome, due_at, started_at, finished_at,
                         exception_class, message, traceback, log)
SELECT id, 1, 1, 'seed', 'succeeded', finished_at, finished_at, finished_at, '', '', '', '' FROM finished
"""


@contextlib.contextmanager
def own_database(server_url: str) -> Iterator[Database]:
    """
    Create a database beside the one that the URL names, keep its URL in ``DATABASE_URL`` for the block, and drop it.

    The one that was given is connected to and never written. A kill leaves the
    new one, ``jobs_bench_`` and a random suffix, behind.
    """
    name = f"jobs_bench_{secrets.token_hex(4)}"
    _run(server_url, SQL("CREATE DATABASE {}").format(Identifier(name)))
    url = urlsplit(server_url)._replace(path=f"/{name}").geturl()
    os.environ["DATABASE_URL"] = url
    try:
        yield Database(server_url=server_url, url=url, name=name)
    finally:
        os.environ["DATABASE_URL"] = server_url
        _run(server_url, SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """Where the jobs are, and ways around the ORM to fill and to look at it."""

    server_url: str
    url: str
    name: str

    def empty(self) -> None:
        """Remove all rows, and the dead ones with them."""
        _run(self.url, EMPTY)

    def fill(self, rows: int, *, kind: str) -> None:
        """Insert ready jobs, and leave the table as autovacuum would."""
        _run(self.url, PENDING, {"kind": kind, "rows": rows})
        _run(self.url, "VACUUM (ANALYZE) jobs_job, jobs_jobrun")

    def pile_up(self, rows: int) -> None:
        """Insert that many jobs for tomorrow, and that many finished ones with their runs."""
        _run(self.url, FUTURE, {"rows": rows})
        _run(self.url, FINISHED, {"rows": rows})

    @contextlib.contextmanager
    def open_since(self, rows: int) -> Iterator[None]:
        """Keep a transaction open that might still see so many jobs, all finished since it began, as ready ones."""
        self.fill(rows, kind="bench.noop")
        with psycopg.connect(self.url) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SELECT 1")
            _run(self.url, "UPDATE jobs_job SET state = 'succeeded', finished_at = STATEMENT_TIMESTAMP()")
            yield

    def ask(self, statement: str, params: Any = None) -> Any:
        """Return the first column of the first row."""
        return _ask(self.url, statement, params)

    def transactions(self) -> int:
        """Return how many transactions this database has seen; asked from beside it, so as not to be one of them."""
        counted = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = %s"
        return int(_ask(self.server_url, counted, [self.name]))


def _run(url: str, statement: Any, params: Any = None) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement, params)


def _ask(url: str, statement: Any, params: Any = None) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement, params).fetchone()
    return row[0] if row else None
