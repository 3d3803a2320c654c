"""Every page of the admin reads a little of an index beside 200,000 jobs (PostgreSQL)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from jobs.stats import ShownState, counts, events, queues, search, workers
from tests.crawling import crawl
from tests.test_plans import buffers, explain, sequential_scans

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the plans are PostgreSQL's"),
]

LARGE = {"jobs_job", "jobs_jobrun", "jobs_jobevent"}
MOST_BUFFERS = 1_500

# The oldest have not ended, or not well; most has succeeded since.
SEED_JOBS = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, started_at, finished_at,
                      attempt, max_attempts, backoff_base, backoff_cap, backoff_jitter, metadata, claim_no,
                      lease_owner, lease_expires_at, losses, unique_key, error, cron_id)
SELECT CASE WHEN n % 1000 = 7 THEN 'echo' ELSE 'noop' END, '[]', '{}',
       CASE WHEN n % 1000 = 3 THEN 'small' ELSE 'bulk' END, n % 3,
       state, NOW() + CASE state WHEN 'scheduled' THEN 1 ELSE -1 END * n * INTERVAL '1 second',
       NOW() - INTERVAL '1 day',
       CASE WHEN state IN ('running', 'succeeded', 'dead') THEN NOW() - INTERVAL '1 hour' END,
       CASE WHEN state IN ('succeeded', 'dead', 'cancelled') THEN NOW() - n * INTERVAL '1 second' END,
       CASE WHEN state = 'pending' OR n % 4 < 2 THEN 0 ELSE 1 END, 8, 2, 300, 0.3, '{}', 1,
       CASE WHEN state = 'running' THEN 'w' || n % 50 ELSE '' END,
       CASE WHEN state = 'running' THEN NOW() + INTERVAL '1 hour' END,
       CASE WHEN state = 'pending' AND n % 1000 = 0 THEN 1 ELSE 0 END,
       CASE WHEN n % 100 = 7 THEN 'key ' || n END,
       CASE WHEN state = 'dead' THEN 'ValueError: boo ' || n ELSE '' END,
       CASE WHEN n % 100 = 9 THEN n % 7 + 1 END
  FROM (SELECT n, CASE WHEN n % 8 = 7 THEN 'succeeded' WHEN n < 20000 THEN 'pending' WHEN n < 40000 THEN 'scheduled'
                       WHEN n < 50000 THEN 'dead' WHEN n < 60000 THEN 'cancelled'
                       WHEN n < 60500 THEN 'running' ELSE 'succeeded' END AS state
          FROM GENERATE_SERIES(1, 200000) AS n) AS crowd
"""
SEED_RUNS = """
INSERT INTO jobs_jobrun (job_id, attempt, claim_no, worker, outcome, started_at, finished_at,
                         exception_class, message, traceback, log)
SELECT id, 1, 1, 'w' || id % 50, 'succeeded', started_at, finished_at, '', '', '', '' FROM jobs_job
 WHERE finished_at IS NOT NULL AND started_at IS NOT NULL
"""
SEED_EVENTS = """
INSERT INTO jobs_jobevent (at, kind, job_id, queue, worker, cron_id, slots, actor_id, actor_label, reason, changes)
SELECT NOW(), CASE WHEN id % 500 = 0 THEN 'paused' ELSE 'cancelled' END, CASE WHEN id % 500 > 0 THEN id END,
       CASE WHEN id % 500 = 0 THEN 'bulk' ELSE '' END, CASE WHEN id % 500 = 1 THEN 'w1' ELSE '' END, cron_id,
       '{}', '1', 'bob', '', '{}' FROM jobs_job WHERE id % 2 = 0
"""
SEED_SMALL = """
INSERT INTO jobs_queue (name, paused_at, paused_by, pause_reason)
SELECT name, CASE WHEN name = 'small' THEN NOW() END, '', '' FROM UNNEST(ARRAY['bulk', 'small', 'empty']) AS name;
INSERT INTO jobs_worker (name, hostname, pid, version, queues, kinds, concurrency, running, started_at, heartbeat_at,
                         clock_skew)
SELECT 'w' || n, 'host', n, '1', '[]', '[]', 4, 4, NOW(), NOW() - CASE WHEN n > 40 THEN INTERVAL '1 day' ELSE '0' END, 0
  FROM GENERATE_SERIES(0, 49) AS n;
INSERT INTO jobs_cronjob (name, origin, declared, kind, args, payload, queue, unique_key, metadata, expression, every,
                          timezone, enabled, jitter, catch_up, catch_up_limit, catch_up_window, overlap, next_run_at)
SELECT 'schedule ' || n, 'person', '{}', 'noop', '[]', '{}', '', '', '{}', '', 86400, 'UTC', true, 0, 'latest', 100,
       86400, 'allow', NOW() + INTERVAL '1 h' FROM GENERATE_SERIES(1, 7) AS n
"""


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    """200,000 jobs, and windows and counts that are as small beside them as the real ones beside ten millions."""
    for module, name, size in (
        (counts, "MOST", 150),
        (search, "WINDOW", 2_000),
        (search, "MOST_FOUND", 100),
        (events, "WINDOW", 500),
        (queues, "WINDOW", 100),
        (workers, "WINDOW", 500),
    ):
        monkeypatch.setattr(module, name, size)
    with connection.cursor() as cursor:
        for statement in (SEED_JOBS, SEED_RUNS, SEED_EVENTS, SEED_SMALL):
            cursor.execute(statement)
        cursor.execute("ANALYZE jobs_job, jobs_jobrun, jobs_jobevent, jobs_queue, jobs_worker, jobs_cronjob")


RARE = ("kind=echo", "queue=small", "queue=empty", "kind=noop")
STARTS = [
    *(f"/admin/jobs/job/?{narrow}&state={state}" for narrow in RARE for state in ShownState),
    *(f"/admin/jobs/job/?{narrow}" for narrow in RARE),
    "/admin/jobs/jobevent/?kind=paused",
]


def visits(client: Client) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield the address and the answer of each page, and the statements that it took."""
    seen: list[Any] = []

    def note(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 (Django's call)
        seen.append((statement, params))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(note):
        for address, response in crawl(client, *STARTS):
            statements, seen[:] = [*seen], []
            yield address, response, statements


def reads(statement: str) -> bool:
    return statement.lstrip().startswith(("SELECT", "WITH")) and "FROM" in statement


@pytest.mark.usefixtures("crowd")
def test_every_page_reads_little_beside_200_000_jobs(admin_client: Client) -> None:
    odd, statements = [], {}
    for address, response, made in visits(admin_client):
        if response.status_code not in {200, 302}:
            odd.append(f"{response.status_code} {address}")
        statements |= {(text, repr(params)): (address, params) for text, params in made if reads(text)}

    for (text, _), (address, params) in statements.items():
        plan = explain(text, params)
        scanned = LARGE & set(sequential_scans(plan))
        if scanned or buffers(plan) > MOST_BUFFERS:
            odd.append(f"{address}: {buffers(plan)} buffers, {scanned or 'no scan'}: {text % params}")

    assert odd == []
    assert len(statements) > 300
