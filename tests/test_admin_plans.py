"""Every page of the admin reads a little of an index beside 200,000 jobs (PostgreSQL)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from benchmarks import crowd as crowd_of
from jobs.stats import ShownState, counts, events, queues, recent, search, workers
from tests.crawling import crawl
from tests.plans import buffers, explain, sequential_scans

pytestmark = [pytest.mark.django_db, pytest.mark.long]

LARGE = {"jobs_job", "jobs_jobrun", "jobs_jobevent"}
# A walk through one of the crowds costs ten thousand.
MOST_BUFFERS = 1_000


@pytest.fixture
def crowd(new_tables: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """200,000 jobs, and windows and counts that are as small beside them as the real ones beside ten millions."""
    for module, name, size in (
        (counts, "MOST", 150),
        (search, "WINDOW", 2_000),
        (search, "MOST_FOUND", 100),
        (events, "WINDOW", 500),
        (queues, "WINDOW", 100),
        (workers, "WINDOW", 500),
        (recent, "WINDOW", 500),
    ):
        monkeypatch.setattr(module, name, size)
    with connection.cursor() as cursor:
        for statement in crowd_of.STATEMENTS:
            cursor.execute(statement, {"rows": 200_000, "told": 150_000})
        cursor.execute(f"ANALYZE {', '.join(crowd_of.TABLES)}")


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
    return statement.lstrip().startswith(("SELECT", "WITH")) and any(table in statement for table in LARGE)


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
