"""How many statements each page of the admin takes to read what it shows, whatever there is to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Job, JobEvent, JobRun, Queue, Worker
from jobs.stats import ShownState
from tests.jobs import noop
from tests.leasing import make_worker
from tests.test_admin import backing_off_job, dead_job, reads, running_job, url

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def make_some(numbers: Iterable[int]) -> None:
    """Make as many of everything that a page shows."""
    for number in numbers:
        (
            noop.using(queue=f"queue {number}").enqueue(),
            dead_job().discard(),
            dead_job(),
            backing_off_job(),
            running_job(),
        )
        make_worker(f"worker {number}")
        Queue.objects.create(name=f"queue {number}")


def change(model: Any, **found_by: Any) -> Callable[[], str]:
    return lambda: url(f"{model._meta.model_name}_change", model.objects.filter(**found_by).latest("pk").pk)


def listing(model: Any, query: str = "") -> Callable[[], str]:
    return lambda: url(f"{model._meta.model_name}_changelist") + query


# Session and user are two of each.
PAGES: dict[str, tuple[Callable[[], str], int]] = {
    "index": (lambda: "/admin/jobs/", 6),
    "jobs": (listing(Job), 6),
    **{f"jobs {state}": (listing(Job, f"?state={state}"), 6) for state in ShownState if state != "pending"},
    "jobs pending": (listing(Job, "?state=pending"), 7),
    "jobs of a queue": (listing(Job, "?queue=queue+0"), 6),
    "jobs of a kind": (listing(Job, "?kind=noop"), 6),
    "jobs found": (listing(Job, "?q=noop"), 10),
    "a pending job": (change(Job, state="pending"), 15),
    "a dead job": (change(Job, state="dead"), 13),
    "a running job": (change(Job, state="running"), 15),
    "runs": (listing(JobRun), 4),
    "a run": (change(JobRun), 5),
    "events": (listing(JobEvent), 9),
    "events of a kind": (listing(JobEvent, "?kind=discarded"), 10),
    "an event": (change(JobEvent), 6),
    "queues": (listing(Queue), 8),
    "a queue": (change(Queue), 16),
    "workers": (listing(Worker), 6),
    "a worker": (change(Worker), 7),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_takes_as_many_statements_for_much_as_for_little(admin_client: Client, name: str) -> None:
    address, most = PAGES[name]
    taken = []

    for numbers in ([0], range(1, 6)):
        make_some(numbers)
        # Django keeps content types in memory, once they are asked for.
        admin_client.get(address())
        with CaptureQueriesContext(connection) as queries:
            assert admin_client.get(address()).status_code == 200
        taken.append(len(reads(queries)))

    assert taken == [most, most]
