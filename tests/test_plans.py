"""
Every hot statement reads a little of its own index, whatever else is in the table (PostgreSQL).

A plan that walked one of the crowds would touch thousands of buffers or scan the table.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

import pytest
from django.db import connection
from django.db.models import F

from jobs import leases, maintenance, schedules, stats
from jobs.leases import Beat
from jobs.models import Job
from jobs.stats import ShownState, exporting, search
from tests.leasing import claim, settlement
from tests.plans import assert_cheap, seed

pytestmark = pytest.mark.django_db


def test_claim_of_all_queues_is_flat(crowd: None) -> None:
    assert_cheap(lambda: claim(slots=10))


def test_claim_of_a_small_queue_beside_a_big_one_is_flat(crowd: None) -> None:
    assert_cheap(lambda: claim(slots=10, queues=["small"]))


def test_claim_beside_a_big_paused_queue_is_flat(crowd: None) -> None:
    assert_cheap(lambda: claim(slots=10, paused={"bulk"}))


def test_claim_of_a_suspect_is_flat(crowd: None) -> None:
    assert_cheap(lambda: leases.claim_suspect("w1", lease_seconds=30, using="default"))


def test_promote_is_flat(crowd: None) -> None:
    seed(20, state="scheduled", run_in=-60)

    assert_cheap(lambda: maintenance.promote(limit=10, using="default"))


def test_the_survey_is_flat(crowd: None) -> None:
    assert_cheap(lambda: maintenance.survey(using="default"))


def test_rescue_is_flat(crowd: None) -> None:
    claim(slots=5)
    Job.objects.running().update(lease_expires_at="2020-01-01T00:00:00Z")

    assert_cheap(lambda: leases.rescue(limit=10, using="default"))


def test_expire_is_flat(crowd: None) -> None:
    assert_cheap(lambda: maintenance.expire(using="default"))


def test_settle_and_renew_go_through_the_primary_key(crowd: None) -> None:
    held = claim(slots=20)

    assert_cheap(
        lambda: leases.renew([Beat(lease=one.lease) for one in held], lease_seconds=30, using="default"), most=600
    )
    assert_cheap(lambda: leases.settle([settlement(one.lease) for one in held], using="default"), most=600)


def test_prune_is_flat(crowd: None) -> None:
    assert_cheap(lambda: list(maintenance.prune(limit=10, using="default")))


def test_an_export_of_the_pending_jobs_goes_on_where_it_was(crowd: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "CHUNK", 20)

    assert_cheap(lambda: exported(chunks=4, state="pending"))


def test_an_export_of_what_is_looked_for_among_the_newest_reads_no_others(
    crowd: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(30_000, state="succeeded")
    Job.objects.filter(state="succeeded").update(finished_at=F("run_at") + F("id") * timedelta(seconds=1))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
    monkeypatch.setattr(exporting, "CHUNK", 10)
    monkeypatch.setattr(search, "WINDOW", 2_000)

    assert_cheap(lambda: exported(chunks=300, state="succeeded", kind="noop"))


def exported(*, chunks: int, **filters: str) -> None:
    selection = stats.freeze(filters, ShownState, using="default")
    list(islice(stats.exported(selection, using="default"), chunks))


SEED_SCHEDULES = """
INSERT INTO jobs_cronjob (name, origin, declared, kind, args, payload, queue, unique_key, metadata, expression, every,
                          timezone, enabled, jitter, catch_up, catch_up_limit, catch_up_window, overlap, next_run_at,
                          waiting_for)
SELECT 'crowd ' || n, 'person', '{}', 'noop', '[]', '{}', '', '', '{}', '', 86400,
       'UTC', n % 10 > 0, 0, 'latest', 100, 86400, 'queue_one', now() + interval '1 h' + n * interval '1 s',
       CASE WHEN n = 7 THEN now() END
  FROM generate_series(1, 100000) AS n
"""


def test_the_tick_reads_an_index_beside_100_000_schedules(crowd: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SEED_SCHEDULES)
        cursor.execute("UPDATE jobs_cronjob SET next_run_at = now() - interval '1 min' WHERE name LIKE 'crowd 5_00'")
        cursor.execute("UPDATE jobs_cronjob SET next_run_at = NULL WHERE name LIKE 'crowd 6_00'")
        cursor.execute("ANALYZE jobs_cronjob")

    assert_cheap(lambda: maintenance.survey(using="default"), crowded="jobs_cronjob")
    assert_cheap(lambda: schedules.tick(using="default"), crowded="jobs_cronjob")
    assert_cheap(lambda: schedules.Healer(using="default", limit=100).run_once(), crowded="jobs_cronjob")
