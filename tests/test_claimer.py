"""When a worker claims, and when it lets its slots get on with what they have."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from jobs.models import Job
from jobs.runtime import claimer as claimer_module
from jobs.runtime.claimer import LULL_SECONDS, Claimer
from jobs.runtime.plan import Plan
from jobs.runtime.worker import Worker
from tests.jobs import noop
from tests.working import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def claimer() -> Iterator[Claimer]:
    """The claimer of a worker of two slots, none of whose threads runs."""
    worker = Worker(Plan(concurrency=2))
    yield worker.claimer
    worker.executors.take_back()


def is_woken_by_room(claimer: Claimer) -> bool:
    claimer._woken.clear()
    claimer.note_room(0)
    return claimer._woken.is_set()


def test_a_claim_that_found_all_it_asked_for_is_repeated_at_once(claimer: Claimer) -> None:
    for _ in range(2):
        noop.enqueue()

    assert claimer.run_once() == 0
    assert is_woken_by_room(claimer)


def test_a_claim_that_found_less_lets_the_slots_begin_first(claimer: Claimer, monkeypatch: pytest.MonkeyPatch) -> None:
    # As short as it is, it may be over before the next statement of this test.
    monkeypatch.setattr(claimer_module, "LULL_SECONDS", 3_600.0)
    noop.enqueue()

    assert claimer.run_once() == 3_600
    assert not is_woken_by_room(claimer)


def test_a_lull_is_soon_over(claimer: Claimer) -> None:
    noop.enqueue()

    assert claimer.run_once() == LULL_SECONDS
    wait_until(lambda: is_woken_by_room(claimer))


def test_a_job_that_is_announced_in_the_lull_is_claimed_at_once(claimer: Claimer) -> None:
    noop.enqueue()
    claimer.run_once()

    claimer._woken.clear()
    claimer.note_ready()

    assert claimer._woken.is_set()


def test_a_claim_that_found_nothing_leaves_looking_to_the_survey(claimer: Claimer) -> None:
    assert claimer.run_once() > 10 * LULL_SECONDS
    time.sleep(LULL_SECONDS)
    assert not is_woken_by_room(claimer)
    assert Job.objects.count() == 0
