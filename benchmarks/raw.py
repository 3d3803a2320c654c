"""
The limit: what this server does for the statements of the engine, when nothing is between them.

They are sent straight through psycopg, at the very tables and indexes that
the engine uses, so that the rest can be told from what Python adds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg

from . import raw_loop
from .database import Database
from .figures import RAW_LOOP, Sample
from .scale import Scale

INSERT_ONE = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, metadata)
VALUES (%s, '[]', %s, 'default', 0, 'pending', STATEMENT_TIMESTAMP(), STATEMENT_TIMESTAMP(), 8, 2, 300, 0.3, '{}')
RETURNING id
"""

INSERT_MANY = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, metadata)
SELECT kind, '[]', payload, 'default', 0, 'pending', STATEMENT_TIMESTAMP(), STATEMENT_TIMESTAMP(), 8, 2, 300, 0.3, '{}'
  FROM UNNEST(%s::text[], %s::jsonb[]) AS spec (kind, payload)
RETURNING id
"""

KIND, PAYLOAD = "bench.welcome", '{"user_id":7,"template":"v1"}'
CHUNK = 1_000


def measure(scale: Scale, database: Database) -> Iterator[Sample]:
    """Insert one by one and in thousands; claim and settle with one connection, and with two in two processes."""
    yield _insert_one_by_one(scale.single, database)
    yield _insert_in_thousands(scale.bulk, database)
    yield _claim_and_settle(scale.drained, database, name=RAW_LOOP, processes=1)
    yield _claim_and_settle(scale.drained, database, name="claim 100, settle 100: 2 connections", processes=2)


def _insert_one_by_one(rows: int, database: Database) -> Sample:
    database.empty()
    with psycopg.connect(database.url, autocommit=True) as connection:
        began = time.monotonic()
        for _ in range(rows):
            connection.execute(INSERT_ONE, [KIND, PAYLOAD])
        return Sample("INSERT, a row a commit", rows / (time.monotonic() - began), "rows/s")


def _insert_in_thousands(rows: int, database: Database) -> Sample:
    database.empty()
    batch = [[KIND] * CHUNK, [PAYLOAD] * CHUNK]
    with psycopg.connect(database.url, autocommit=True) as connection:
        began = time.monotonic()
        for _ in range(rows // CHUNK):
            connection.execute(INSERT_MANY, batch)
        return Sample("INSERT, 1,000 rows a commit", rows // CHUNK * CHUNK / (time.monotonic() - began), "rows/s")


def _claim_and_settle(jobs: int, database: Database, *, name: str, processes: int) -> Sample:
    database.empty()
    database.fill(jobs, kind="bench.noop")
    seconds = raw_loop.drain(database.url, processes=processes)
    settled = database.ask("SELECT COUNT(*) FROM jobs_jobrun WHERE outcome = 'succeeded'")
    if settled != jobs:
        raise RuntimeError(f"The raw loop settled {settled} of {jobs} jobs.")
    return Sample(name, jobs / seconds, "jobs/s")
