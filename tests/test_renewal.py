"""Heartbeats: longer leases, first word of a start, reports, and requested cancels."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from jobs import clock
from jobs.leases import Answer, Beat, Lease, Renewal
from jobs.leases.renewal import renew_by_orm, renew_by_statement
from jobs.models import Job
from tests.jobs import noop
from tests.leasing import claim, in_threads, settle

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["statement", "orm"])
def renew(request: pytest.FixtureRequest) -> Any:
    if request.param == "statement" and connection.vendor != "postgresql":
        pytest.skip("the statement is PostgreSQL's")
    path = {"statement": renew_by_statement, "orm": renew_by_orm}[request.param]
    return lambda *beats: path(beats, lease_seconds=300, using="default")


def test_renew_moves_the_end_of_the_lease(renew: Any) -> None:
    noop.enqueue()
    (claimed,) = claim()

    before = clock.read("default")
    renewals = renew(Beat(lease=claimed.lease))
    after = clock.read("default")

    assert renewals == {claimed.lease: Renewal(Answer.DONE, cancel_requested=False)}
    assert before <= Job.objects.get().lease_expires_at - timedelta(seconds=300) <= after


def test_renew_records_the_start_of_a_job_claimed_ahead_once(renew: Any) -> None:
    noop.enqueue()
    (claimed,) = claim(slots=0, ahead=1)
    before = clock.read("default")
    renew(Beat(lease=claimed.lease, running=5.0))
    after, first = clock.read("default"), Job.objects.get().started_at

    renew(Beat(lease=claimed.lease, running=99.0))

    assert before <= first + timedelta(seconds=5) <= after
    assert Job.objects.get().started_at == first


def test_renew_stores_progress_and_log_and_leaves_them_when_there_is_no_news(renew: Any) -> None:
    noop.enqueue()
    (claimed,) = claim()
    renew(Beat(lease=claimed.lease, progress={"done": 3, "total": 10, "message": "ünï"}, log="one\ntwo"))

    renew(Beat(lease=claimed.lease))

    job = Job.objects.get()
    assert (job.progress, job.log) == ({"done": 3, "total": 10, "message": "ünï"}, "one\ntwo")


def test_renew_tells_of_a_requested_cancel(renew: Any) -> None:
    job = noop.enqueue()
    (claimed,) = claim()
    job.cancel()

    assert renew(Beat(lease=claimed.lease)) == {claimed.lease: Renewal(Answer.DONE, cancel_requested=True)}


def test_a_settled_or_unknown_lease_is_lost(renew: Any) -> None:
    noop.enqueue()
    (claimed,) = claim()
    settle(claimed.lease)

    renewals = renew(Beat(lease=claimed.lease), Beat(lease=Lease(2**40, 1)))

    assert {renewal.answer for renewal in renewals.values()} == {Answer.LOST}


def test_a_row_that_others_hold_is_busy_and_the_rest_is_renewed(renew: Any, transactional_db: None) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite locks the whole database")
    noop.enqueue(), noop.enqueue()
    held, free = claim()

    with transaction.atomic():
        Job.objects.select_for_update().get(pk=held.job_id)
        (renewals,) = in_threads(lambda: renew(Beat(lease=held.lease), Beat(lease=free.lease)))

    assert {lease: renewal.answer for lease, renewal in renewals.items()} == {
        held.lease: Answer.BUSY,
        free.lease: Answer.DONE,
    }


@pytest.mark.usefixtures("new_tables")
def test_heartbeats_are_hot_updates() -> None:
    noop.enqueue()
    (claimed,) = claim()
    before = hot_updates()

    for _ in range(5):
        renew_by_statement([Beat(lease=claimed.lease, progress={"done": 1})], lease_seconds=30, using="default")

    assert hot_updates() - before == 5


def hot_updates() -> int:
    """Count those of this session: the sum of all moves on when one that an earlier test has left ends at last."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'jobs_job'")
        return int(cursor.fetchone()[0])
