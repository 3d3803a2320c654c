"""
Every hot statement reads a little of its own index, whatever else is in the table (PostgreSQL).

A plan that walked one of the crowds would touch ten thousand buffers or
scan the table; what earlier tests left dead in the indexes costs hundreds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from jobs import leases, maintenance, schedules
from jobs.leases import Beat
from jobs.models import Job
from tests.leasing import claim, settlement

pytestmark = pytest.mark.django_db

SEED = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, finished_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, metadata)
SELECT 'noop', '[]', '{}', %(queue)s, %(priority)s, %(state)s, now() + %(run_in)s * interval '1 second' + n * interval '1 ms',
       now(), CASE WHEN %(state)s = 'succeeded' THEN now() END, 8, 2, 300, 0.3, '{}'
  FROM generate_series(1, %(rows)s) AS n
"""


def seed(rows: int, *, state: str = "pending", queue: str = "default", priority: int = 0, run_in: int = -3600) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SEED, {"rows": rows, "state": state, "queue": queue, "priority": priority, "run_in": run_in})


@pytest.fixture
def crowd(db: None) -> None:
    """A crowded table: a big queue of better priority, a small one, much in the future, and much that is finished."""
    if connection.vendor != "postgresql":
        pytest.skip("the plans are PostgreSQL's")
    seed(10_000, queue="bulk", priority=50)
    seed(20, queue="small")
    seed(10_000, state="scheduled", priority=100, run_in=86_400)
    seed(10_000, state="succeeded")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")


def plans(work: Callable[[], Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Do ``work`` and yield each of its reading statements with the plan it really has."""
    seen: list[tuple[str, Any]] = []

    def note(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 (Django's call)
        seen.append((statement, params))
        return execute(statement, params, many, context)

    with connection.execute_wrapper(note):
        work()
    for statement, params in seen:
        if statement.lstrip().startswith(("SELECT", "WITH")):
            yield statement, explain(statement, params)


def explain(statement: str, params: Any) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT plan")
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement, params)
        (plan,) = cursor.fetchone()
        cursor.execute("ROLLBACK TO SAVEPOINT plan")
    found: dict[str, Any] = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return found


def buffers(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def sequential_scans(plan: dict[str, Any]) -> list[str]:
    own = [plan["Relation Name"]] if plan["Node Type"] == "Seq Scan" else []
    return own + [name for child in plan.get("Plans", []) for name in sequential_scans(child)]


def assert_cheap(work: Callable[[], Any], *, most: int, crowded: str = "jobs_job") -> None:
    """Look at the table that is ``crowded``: a scan of one that is nearly empty is no news."""
    seen = list(plans(work))
    assert seen
    for text, plan in seen:
        assert crowded not in sequential_scans(plan), text
        assert buffers(plan) <= most, (buffers(plan), text)


def test_claim_of_all_queues_is_flat(crowd: None) -> None:
    assert_cheap(lambda: claim(slots=10), most=3_000)


def test_claim_of_a_small_queue_beside_a_big_one_is_flat(crowd: None) -> None:
    assert_cheap(lambda: claim(slots=10, queues=["small"]), most=3_000)


def test_claim_beside_a_big_paused_queue_is_flat(crowd: None) -> None:
    assert_cheap(lambda: claim(slots=10, paused={"bulk"}), most=3_000)


def test_claim_of_a_suspect_is_flat(crowd: None) -> None:
    assert_cheap(lambda: leases.claim_suspect("w1", lease_seconds=30, using="default"), most=3_000)


def test_promote_is_flat(crowd: None) -> None:
    seed(20, state="scheduled", run_in=-60)

    assert_cheap(lambda: maintenance.promote(limit=10, using="default"), most=3_000)


def test_the_survey_is_flat(crowd: None) -> None:
    assert_cheap(lambda: maintenance.survey(using="default"), most=3_000)


def test_rescue_is_flat(crowd: None) -> None:
    claim(slots=5)
    Job.objects.running().update(lease_expires_at="2020-01-01T00:00:00Z")

    assert_cheap(lambda: leases.rescue(limit=10, using="default"), most=3_000)


def test_expire_is_flat(crowd: None) -> None:
    assert_cheap(lambda: maintenance.expire(using="default"), most=3_000)


def test_settle_and_renew_go_through_the_primary_key(crowd: None) -> None:
    held = claim(slots=20)

    assert_cheap(
        lambda: leases.renew([Beat(lease=one.lease) for one in held], lease_seconds=30, using="default"), most=600
    )
    assert_cheap(lambda: leases.settle([settlement(one.lease) for one in held], using="default"), most=3_000)


def test_prune_is_flat(crowd: None) -> None:
    assert_cheap(lambda: list(maintenance.prune(limit=10, using="default")), most=3_000)


SEED_SCHEDULES = """
INSERT INTO jobs_cronjob (name, origin, declared, kind, args, payload, queue, unique_key, metadata, expression, every,
                          timezone, enabled, jitter, catch_up, catch_up_limit, catch_up_window, overlap, next_run_at,
                          waiting_for)
SELECT 'crowd ' || n, 'person', '{}', 'noop', '[]', '{}', '', '', '{}', '', 86400,
       'UTC', n % 10 > 0, 0, 'latest', 100, 86400, 'queue_one', now() + n * interval '1 s',
       CASE WHEN n = 7 THEN now() END
  FROM generate_series(1, 100000) AS n
"""


def test_the_tick_reads_an_index_beside_100_000_schedules(crowd: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SEED_SCHEDULES)
        cursor.execute("UPDATE jobs_cronjob SET next_run_at = now() - interval '1 min' WHERE name LIKE 'crowd 5_00'")
        cursor.execute("UPDATE jobs_cronjob SET next_run_at = NULL WHERE name LIKE 'crowd 6_00'")
        cursor.execute("ANALYZE jobs_cronjob")

    assert_cheap(lambda: maintenance.survey(using="default"), most=3_000, crowded="jobs_cronjob")
    assert_cheap(lambda: schedules.tick(using="default"), most=3_000, crowded="jobs_cronjob")
    assert_cheap(lambda: schedules.Healer(using="default", limit=100).run_once(), most=3_000, crowded="jobs_cronjob")
