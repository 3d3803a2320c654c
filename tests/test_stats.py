"""Reads for people: what they say, and that they read little of a crowded table (PostgreSQL)."""

from __future__ import annotations

import pytest

from jobs import stats
from jobs.models import Job
from jobs.stats import Badge, ShownState, search
from tests.jobs import noop
from tests.leasing import claim
from tests.plans import assert_cheap

pytestmark = pytest.mark.django_db

PAGE = 100
# Those that are pending are in two indexes, and have a way of their own.
QUICK = [state for state in ShownState if state is not ShownState.PENDING]


@pytest.mark.parametrize("state", QUICK, ids=str)
@pytest.mark.usefixtures("crowd")
def test_a_page_of_one_state_reads_little(state: ShownState) -> None:
    jobs = stats.in_shown_state(Job.objects.all(), state).order_by(*state.order)

    assert_cheap(lambda: list(stats.with_signs(jobs)[:PAGE]))


@pytest.mark.parametrize("queue", ["small", "unheard-of"])
@pytest.mark.usefixtures("crowd")
def test_the_pending_jobs_of_a_small_queue_are_found_through_its_index(queue: str) -> None:
    jobs = stats.in_shown_state(Job.objects.filter(queue=queue), ShownState.PENDING)

    assert_cheap(lambda: list(jobs.order_by("-pk")[:PAGE]))


@pytest.mark.parametrize("term", ["12345", "order:7"], ids=["an id", "a key"])
@pytest.mark.usefixtures("crowd")
def test_a_search_reads_no_more_than_its_window(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setattr(search, "WINDOW", 100)

    assert_cheap(lambda: list(stats.found(Job.objects.all(), term)))


@pytest.mark.parametrize(
    ("text", "job_id"), [("12", 12), ("#12", 12), (" 12 ", 12), ("-1", None), ("x", None), ("", None), ("9" * 19, None)]
)
def test_an_id_is_read_as_people_write_it(text: str, job_id: int | None) -> None:
    assert stats.as_id(text) == job_id


def test_a_job_in_order_wears_no_badge() -> None:
    noop.enqueue()

    assert stats.badges(stats.with_signs(Job.objects.all()).get()) == []


def test_a_job_may_wear_several_badges() -> None:
    job = noop.enqueue()
    claim()
    Job.objects.update(lease_expires_at=job.enqueued_at)
    job.cancel()

    assert stats.badges(stats.with_signs(Job.objects.all()).get()) == [Badge.LEASE_EXPIRED, Badge.CANCELLING]
