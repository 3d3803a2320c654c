"""
A site whose jobs are in another database than all else: every page, command and check goes there.

Run as a program, since Django makes its databases when it starts. The default
database has no table of jobs, so that whatever asks there fails.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

ALIAS = "elsewhere"


class Router:
    """Send our models there, and nothing else."""

    def db_for_read(self, model: Any, **_: Any) -> str | None:
        return ALIAS if model._meta.app_label == "jobs" else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_: Any) -> bool:
        return (db == ALIAS) == (app_label == "jobs")


def configure(folder: Path, url: str) -> None:
    """Set the site up: ``url`` is where the jobs are."""
    os.environ["DATABASE_URL"] = f"sqlite:///{folder}/default.sqlite3"
    from django.conf import settings

    from project.databases import database

    settings.DATABASES = {"default": settings.DATABASES["default"], ALIAS: _at(url, database)}
    settings.DATABASE_ROUTERS = ["tests.elsewhere.Router"]
    import django

    django.setup()


def _at(url: str, database: Any) -> Any:
    os.environ["DATABASE_URL"] = url
    return database(default=url)


def fill() -> None:
    """Make a bit of everything, by the same doors that a site uses."""
    from django.core.management import call_command

    from jobs import operations
    from jobs.models import CronJob, Job
    from tests.jobs import fail, noop

    noop.enqueue(password="x"), fail.using(max_attempts=1).enqueue(), fail.enqueue()
    with contextlib.suppress(SystemExit):
        call_command("runworkers", "--burst", "--concurrency", "1", verbosity=0)
    operations.pause("mail")
    noop.using(queue="mail").enqueue(), noop.using(delay=60).enqueue()
    CronJob.objects.create(name="nightly", kind="noop", every=3600).trigger()
    assert set(Job.objects.values_list("state", flat=True)) == {"succeeded", "dead", "scheduled", "pending"}


def visit() -> int:
    """Log in, look at every page, and do what can be done to each sort of row."""
    from django.contrib.auth.models import User
    from django.test import Client

    from jobs.models import Job, Queue, Worker
    from tests.crawling import crawl

    client = Client()
    client.force_login(User.objects.create_superuser("admin"))
    answers = {address: response.status_code for address, response in crawl(client)}
    assert set(answers.values()) <= {200, 302}, answers
    for action, row in (
        ("retry", Job.objects.dead().first()),
        ("cancel", Job.objects.pending().first()),
        ("resume", Queue.objects.paused().first()),
        ("drain", Worker.objects.first()),
    ):
        address = f"/admin/jobs/{row._meta.model_name}/{row.pk}/do/{action}/"  # type: ignore[union-attr]
        assert client.post(address).status_code == 302, address
    assert client.post("/admin/jobs/job/add/?kind=noop").status_code == 302
    assert Job.objects.dead().count() == 0
    return len(answers)


def command() -> None:
    """Run the checks and what the command line has."""
    from django.core.management import call_command

    from jobs.models import Job

    quiet = io.StringIO()
    call_command("check", databases=[ALIAS], stdout=quiet, stderr=quiet)
    job = str(Job.objects.latest("pk").pk)
    for words in ("queues", "workers", "pause mail", "resume mail", "prune", f"show {job}", "cron list"):
        call_command("jobs", *words.split(), stdout=quiet)
    call_command("dumpdata", "jobs", database=ALIAS, stdout=quiet)
    assert '"jobs.job"' in quiet.getvalue()


def main() -> None:
    folder, url = sys.argv[1:]
    configure(Path(folder), url)
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    call_command("migrate", database=ALIAS, verbosity=0)
    assert not [name for name in connections["default"].introspection.table_names() if name.startswith("jobs_")]
    fill()
    pages = visit()
    command()
    connections.close_all()
    sys.stdout.write(f"{pages} pages\n")


if __name__ == "__main__":
    main()
