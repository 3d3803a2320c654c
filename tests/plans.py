"""How much a statement reads: crowded tables, and the plans of what is done beside them (PostgreSQL)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from django.apps import apps
from django.db import connection

SEED = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, finished_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, metadata)
SELECT 'noop', '[]', '{}', %(queue)s, %(priority)s, %(state)s, now() + %(run_in)s * interval '1 second' + n * interval '1 ms',
       now(), CASE WHEN %(state)s = 'succeeded' THEN now() END, 8, 2, 300, 0.3, '{}'
  FROM generate_series(1, %(rows)s) AS n
"""


def renew_tables() -> None:
    """
    Give the tables new files until the transaction is rolled back.

    Else a statement walks past what earlier tests left dead in the indexes,
    and how much that is differs from run to run.
    """
    tables = {model._meta.db_table for model in apps.get_app_config("jobs").get_models()}
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(sorted(tables))}")


def seed(rows: int, *, state: str = "pending", queue: str = "default", priority: int = 0, run_in: int = -3600) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SEED, {"rows": rows, "state": state, "queue": queue, "priority": priority, "run_in": run_in})


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


def assert_cheap(work: Callable[[], Any], *, most: int = 100, crowded: str = "jobs_job") -> None:
    """
    Hold each statement of ``work`` to so many buffers of 8 kB.

    Only a sequential scan of the table that is ``crowded`` matters: one of a
    table that is nearly empty is no news.
    """
    seen = list(plans(work))
    assert seen
    for text, plan in seen:
        assert crowded not in sequential_scans(plan), text
        assert buffers(plan) <= most, (buffers(plan), text)
