"""Claims that go on where the last one ended: what they spare, and that they leave nothing lying."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs.leases import Trail, trail
from jobs.models import Job
from jobs.states import State
from tests.jobs import noop
from tests.leasing import claim
from tests.plans import assert_cheap, seed

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="other databases have no trail"),
]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every claim from the top counts as slow, and is followed by others for a long time."""
    monkeypatch.setattr(trail, "SLOW_SECONDS", -1.0)
    monkeypatch.setattr(trail, "TIMES", 1e9)
    monkeypatch.setattr(trail, "MOST_SECONDS", 3_600.0)
    return monkeypatch


def enqueue(count: int, *, priority: int = 0, queue: str = "default") -> list[int]:
    return [noop.using(priority=priority, queue=queue).enqueue().pk for _ in range(count)]


def ids(slots: int, used: Trail, **options: object) -> list[int]:
    return [one.job_id for one in claim(slots=slots, trail=used, **options)]


def test_a_claim_after_a_slow_one_goes_on_where_it_ended(slow: pytest.MonkeyPatch) -> None:
    used, waiting = Trail(), enqueue(4)
    assert ids(2, used) == waiting[:2]
    enqueue(1, priority=50)

    assert ids(2, used) == waiting[2:]


@pytest.mark.parametrize(("limit", "seconds"), [("MOST_SECONDS", 0.0), ("SLOW_SECONDS", 3_600.0)])
def test_after_a_while_or_a_quick_claim_it_starts_from_the_top(
    slow: pytest.MonkeyPatch, limit: str, seconds: float
) -> None:
    slow.setattr(trail, limit, seconds)
    used, waiting = Trail(), enqueue(4)
    assert ids(2, used) == waiting[:2]
    (urgent,) = enqueue(1, priority=50)

    assert ids(2, used) == [urgent, waiting[2]]


@pytest.mark.parametrize("options", [{}, {"queues": ["default"]}, {"paused": {"other"}}], ids=str)
def test_where_nothing_comes_after_it_the_rest_is_taken_at_once(
    slow: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    used, waiting = Trail(), enqueue(3)
    assert ids(2, used, **options) == waiting[:2]
    (urgent,) = enqueue(1, priority=50)
    (lesser,) = enqueue(1, priority=-50)

    assert sorted(ids(10, used, **options)) == [waiting[2], urgent, lesser]


def test_a_job_given_back_before_the_place_is_claimed_again(slow: pytest.MonkeyPatch) -> None:
    used, waiting = Trail(), enqueue(2)
    first, _ = claim(slots=2, trail=used)
    Job.objects.filter(pk=first.job_id).update(state=State.PENDING, lease_owner="", lease_expires_at=None)

    assert ids(2, used) == waiting[:1]


def test_each_queue_has_a_place_of_its_own(slow: pytest.MonkeyPatch) -> None:
    used, mail, other = Trail(), enqueue(3, queue="mail"), enqueue(3, queue="other")
    both = ["mail", "other"]

    assert ids(2, used, queues=both) == mail[:2]
    assert ids(2, used, queues=both) == [mail[2], other[0]]
    assert ids(2, used, queues=both) == other[1:]


@pytest.mark.usefixtures("new_tables")
def test_what_was_claimed_since_a_transaction_began_is_walked_past_once(slow: pytest.MonkeyPatch) -> None:
    """This test's own transaction sees what it changed, so all of its index entries stay."""
    seed(10_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
    used = Trail()
    for _ in range(8):
        claim(slots=1_000, trail=used)

    assert_cheap(lambda: claim(slots=10, trail=used))
    with pytest.raises(AssertionError):
        assert_cheap(lambda: claim(slots=10))
