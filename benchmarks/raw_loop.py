"""The claim and settle loop without an engine around it. Imports no models, so that its processes start fast."""

from __future__ import annotations

import json
import multiprocessing
import time
from typing import Any

import psycopg

from jobs import sql

BATCH = 100

# The statements of leases.claim, as the ORM writes them.
LOCK = """
SELECT id, claim_no + 1, attempt + 1, kind, args::text, payload::text, queue, max_attempts,
       backoff_base, backoff_cap, backoff_jitter, timeout, enqueued_at, metadata::text, losses, stranded,
       expires_at - STATEMENT_TIMESTAMP()
  FROM jobs_job
 WHERE losses = 0 AND state = 'pending'
 ORDER BY priority DESC, run_at, id
 LIMIT %s
   FOR NO KEY UPDATE SKIP LOCKED
"""

TAKE = """
UPDATE jobs_job
   SET state = 'running', claim_no = claim_no + 1, attempt = attempt + 1, lease_owner = 'raw',
       lease_expires_at = STATEMENT_TIMESTAMP() + INTERVAL '30 s', started_at = STATEMENT_TIMESTAMP()
 WHERE id = ANY(%s) AND state = 'pending'
"""


def drain(url: str, *, processes: int) -> float:
    """Claim and settle all that is pending; return the seconds from the first start to the last end."""
    context = multiprocessing.get_context("spawn")
    start, ends = context.Barrier(processes), context.SimpleQueue()
    loops = [context.Process(target=_loop, args=(url, start, ends)) for _ in range(processes)]
    for loop in loops:
        loop.start()
    spans = [ends.get() for _ in loops]
    for loop in loops:
        loop.join()
    return float(max(end for _, end in spans) - min(began for began, _ in spans))


def _loop(url: str, start: Any, ends: Any) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        start.wait()
        began = time.monotonic()
        while claimed := _claim(connection):
            _settle(connection, claimed)
        ends.put((began, time.monotonic()))


def _claim(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    with connection.transaction():
        rows = connection.execute(LOCK, [BATCH]).fetchall()
        connection.execute(TAKE, [[row[0] for row in rows]])
    return rows


def _settle(connection: psycopg.Connection, claimed: list[tuple[Any, ...]]) -> None:
    """Settle as successes, and offer again what was locked: another claim in passing locks rows that are not ready any more."""
    left = {row[0]: _offer(row) for row in claimed}
    while left:
        settled = connection.execute(sql.SETTLE_POSTGRESQL, {"rows": json.dumps(list(left.values()))})
        for job_id, _ in settled.fetchall():
            del left[job_id]


def _offer(row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "id": row[0],
        "claim_no": row[1],
        "target": "succeeded",
        "final": True,
        "outcome": "succeeded",
        "error": "",
        "age": 0,
        "duration": 0,
    }
