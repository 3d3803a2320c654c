"""The admin beside ten million jobs: ``python -m benchmarks.admin [--rows N] [--visits N]``."""

from __future__ import annotations

import argparse
import os
import re
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import django
from django.core.management import call_command

from project import postgres

from . import crowd, machine, report
from .database import Database, own_database

ROWS = 10_000_000
STATES = ("scheduled", "backing_off", "pending", "running", "succeeded", "dead", "cancelled")
JOBS = "/admin/jobs/job/"

INDEXES = """
SELECT indexname, indexdef FROM pg_indexes
 WHERE tablename = 'jobs_job' AND indexname NOT LIKE '%_pkey'
"""


@dataclass(slots=True)
class Page:
    """What the visits to one page took; ``statements`` are those of the last, each with its seconds."""

    name: str
    seconds: list[float] = field(default_factory=list)
    statements: list[tuple[float, str]] = field(default_factory=list)

    def row(self) -> str:
        took, text = max(self.statements)
        median, worst = (f"{value * 1000:.0f}" for value in (statistics.median(self.seconds), max(self.seconds)))
        return f"| {self.name} | {median} | {worst} | {len(self.statements)} | {took * 1000:.1f} | {_about(text)} |"


def main() -> None:
    """Take the command line, find a server, and leave nothing on it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.admin", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="jobs in the table (default: %(default)s)")
    parser.add_argument("--visits", type=int, default=7, help="to each page (default: %(default)s)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with postgres.running("bench", fresh=True) as server_url:
        if not server_url.startswith(("postgres://", "postgresql://")):
            sys.exit("The benchmarks need PostgreSQL: install it, or set DATABASE_URL to a postgres:// URL.")
        with own_database(server_url) as database:
            os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.site"
            django.setup()
            call_command("migrate", verbosity=0)
            print(report.facts(machine.describe(database.url)), end="\n\n", flush=True)
            _seed(database, options.rows)
            _visit(options.visits)


def _seed(database: Database, rows: int) -> None:
    """Fill the tables, the largest without its indexes meanwhile, and leave them as autovacuum would."""
    from django.db import connection

    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("SET maintenance_work_mem = '256MB'")
        cursor.execute(crowd.SCHEDULES)
        cursor.execute(INDEXES)
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {name}")
        cursor.execute(crowd.JOBS, {"rows": rows})
        for _, definition in indexes:
            cursor.execute(definition)
        for statement in crowd.ABOUT_JOBS:
            cursor.execute(statement, {"told": max(rows // 10, 1)})
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(crowd.TABLES)}")
        cursor.execute("SELECT PG_DATABASE_SIZE(CURRENT_DATABASE())")
        ((size,),) = cursor.fetchall()
    took = time.monotonic() - began
    print(f"{rows:,} jobs, {size / 2**30:.1f} GiB in all, made in {took:.0f} s\n", flush=True)


def _visit(visits: int) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client()
    client.force_login(User.objects.create_superuser("bench"))
    print("| page | median ms | worst ms | statements | slowest ms | slowest statement |")
    print("| --- | ---: | ---: | ---: | ---: | --- |", flush=True)
    for name, address in _addresses():
        page = Page(name)
        for _ in range(visits):
            _measure(page, lambda address=address: client.get(address))  # type: ignore[misc]
        print(page.row(), flush=True)


def _measure(page: Page, visit: Callable[[], Any]) -> None:
    from django.db import connection

    page.statements.clear()

    def note(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 (Django's call)
        began = time.monotonic()
        try:
            return execute(statement, params, many, context)
        finally:
            page.statements.append((time.monotonic() - began, statement))

    began = time.monotonic()
    with connection.execute_wrapper(note):
        response = visit()
    page.seconds.append(time.monotonic() - began)
    if response.status_code >= 400:
        raise RuntimeError(f"{page.name}: status {response.status_code}.")


def _addresses() -> Iterator[tuple[str, str]]:
    from jobs import stats
    from jobs.models import Job, JobEvent, JobRun, Queue, Worker
    from jobs.stats import ShownState

    yield "index of the app", "/admin/jobs/"
    yield "jobs", JOBS
    yield "jobs, page 100", f"{JOBS}?p=100"
    for state in STATES:
        yield f"jobs, {state}", f"{JOBS}?state={state}"
    yield "jobs, pending, page 100", f"{JOBS}?state=pending&p=100"
    jobs = stats.in_shown_state(Job.objects.all(), ShownState.PENDING)
    middle = jobs.filter(priority=1).order_by("pk")[jobs.count() // 6]
    yield "jobs, pending, in the middle", f"{JOBS}?state=pending&after={_quoted(middle, ShownState.PENDING)}"
    dead = Job.objects.dead().order_by("pk")[100]
    yield "jobs, dead, near the end", f"{JOBS}?state=dead&after={_quoted(dead, ShownState.DEAD)}"
    for query in ("queue=small", "kind=echo", "q=key+7", "q=echo", "q=7", "kind=echo&state=dead"):
        yield f"jobs, {query}", f"{JOBS}?{query}"
    yield "jobs, queue=small&state=pending", f"{JOBS}?queue=small&state=pending"
    for state in ("pending", "running", "succeeded", "dead"):
        yield f"a job, {state}", f"{JOBS}{Job.objects.filter(state=state).order_by('pk')[1].pk}/change/"
    yield "enqueue a job", f"{JOBS}add/"
    yield "queues", "/admin/jobs/queue/"
    yield "a queue", f"/admin/jobs/queue/{Queue.objects.get(name='bulk').pk}/change/"
    yield "workers", "/admin/jobs/worker/"
    yield "a worker", f"/admin/jobs/worker/{Worker.objects.get(name='w7').pk}/change/"
    yield "runs", "/admin/jobs/jobrun/"
    yield "a run", f"/admin/jobs/jobrun/{JobRun.objects.latest('pk').pk}/change/"
    yield "events", "/admin/jobs/jobevent/"
    yield "events, kind=paused", "/admin/jobs/jobevent/?kind=paused"
    yield "events, schedule", "/admin/jobs/jobevent/?schedule=1"
    yield "an event", f"/admin/jobs/jobevent/{JobEvent.objects.latest('pk').pk}/change/"


def _quoted(job: Any, state: Any) -> str:
    from urllib.parse import quote

    from jobs import stats

    return quote(stats.place_of(job, state))


def _about(statement: str) -> str:
    """Return what a statement reads, short enough for a table."""
    text = re.sub(r'"[^"]*"\."([^"]*)"', r"\1", " ".join(statement.split()))
    found = re.search(r" FROM .*", text)
    return (found[0] if found else text)[:90].strip().replace("|", "/")


if __name__ == "__main__":
    main()
