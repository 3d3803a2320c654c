"""age, assert_enqueued and assert_not_enqueued."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from django.test import override_settings

from jobs import JobSpec, clock, job
from jobs.exceptions import UnknownKind
from jobs.models import Job
from jobs.testing import age, assert_enqueued, assert_not_enqueued, run_jobs
from tests.jobs import echo, noop
from tests.leasing import claim
from tests.registering import own_registry

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forget_handlers() -> Iterator[None]:
    with own_registry():
        yield


def in_hours(hours: float) -> datetime:
    return clock.read("default") + timedelta(hours=hours)


def test_age_moves_the_times_that_are_there_and_refreshes() -> None:
    running = noop.using(expires_at=in_hours(1)).enqueue()
    claim("w1")
    running.cancel()
    running.refresh_from_db()
    before = {name: getattr(running, name) for name in ("run_at", "enqueued_at", "started_at", "expires_at")}

    age(running, 90)

    assert {name: before[name] - getattr(running, name) for name in before} == dict.fromkeys(
        before, timedelta(seconds=90)
    )
    assert running.lease_expires_at < clock.read("default")
    assert running.finished_at is None


def test_age_leaves_other_jobs() -> None:
    one, other = noop.enqueue(), noop.enqueue()
    run_at = other.run_at

    age(one, 60)

    other.refresh_from_db()
    assert other.run_at == run_at


def test_assert_enqueued_returns_what_matches() -> None:
    job_7, _ = echo.enqueue(value=7), echo.enqueue(value=8)

    assert assert_enqueued("echo", payload={"value": 7}) == [job_7]
    assert assert_enqueued(echo, payload={"value": 7}, args=[], queue="default", count=1) == [job_7]
    assert len(assert_enqueued(echo, count=2)) == 2


def test_assert_enqueued_compares_as_json_does() -> None:
    noop.enqueue((1, 2), {3: "three"})

    assert_enqueued(noop, args=((1, 2), {3: "three"}))
    assert_enqueued(noop, args=[[1, 2], {"3": "three"}])


def test_assert_enqueued_finds_what_is_scheduled() -> None:
    noop.using(delay=60).enqueue()

    assert_enqueued(noop)


def test_assert_enqueued_lists_what_there_is_of_the_kind() -> None:
    ran = echo.enqueue(value=1)
    run_jobs()
    waiting = echo.using(queue="slow").enqueue(value=8)

    with pytest.raises(AssertionError) as raised:
        assert_enqueued(echo, payload={"value": 7})

    assert str(raised.value) == (
        "No 'echo' payload={'value': 7} is enqueued. Jobs of kind 'echo':\n"
        f"  #{ran.pk} succeeded args=[] payload={{'value': 1}} queue='default'\n"
        f"  #{waiting.pk} pending args=[] payload={{'value': 8}} queue='slow'"
    )


def test_assert_enqueued_says_when_there_is_none_of_the_kind() -> None:
    with pytest.raises(AssertionError, match=r"No 'echo' is enqueued\. There is no job of kind 'echo' at all"):
        assert_enqueued("echo")


def test_assert_enqueued_shows_no_more_than_twenty() -> None:
    Job.objects.enqueue_many([JobSpec("noop")] * 30)

    with pytest.raises(AssertionError) as raised:
        assert_enqueued(noop, queue="mail")

    assert str(raised.value).count("#") == 20
    assert str(raised.value).endswith("\n  …")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_assert_enqueued_checks_the_count(count: int) -> None:
    noop.enqueue()
    noop.enqueue()

    with pytest.raises(AssertionError, match=f"2 of 'noop' are enqueued, not {count}"):
        assert_enqueued(noop, count=count)


def test_assert_not_enqueued_passes_for_what_has_run_or_differs() -> None:
    echo.enqueue(value=7)
    run_jobs()
    echo.enqueue(value=8)

    assert_not_enqueued(echo, payload={"value": 7})
    assert_not_enqueued(noop)


def test_assert_not_enqueued_raises_for_what_waits() -> None:
    waiting = echo.enqueue(value=7)

    with pytest.raises(
        AssertionError, match=rf"1 of 'echo' queue='default' enqueued, none expected(.|\n)*#{waiting.pk}"
    ):
        assert_not_enqueued(echo, queue="default")


def test_a_misspelt_kind_is_an_error_rather_than_absent() -> None:
    with pytest.raises(UnknownKind, match="No handler is registered for kind 'ecko'"):
        assert_not_enqueued("ecko")


@override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True})
def test_kinds_of_other_processes_can_be_asserted() -> None:
    Job.objects.enqueue("strange")

    assert_enqueued("strange")
    assert_not_enqueued("stranger")


def test_rows_under_an_older_kind_count_as_the_handlers() -> None:
    with override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True}):
        Job.objects.enqueue("test.old")
    new = job("test.new", aliases=["test.old"])(lambda: None)

    assert_enqueued(new)
    assert_enqueued("test.old")
