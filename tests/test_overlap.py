"""What becomes of a slot that comes while the job of an earlier one is not finished."""

from __future__ import annotations

import pytest
from django.db import connection

from jobs import leases, schedules
from jobs.models import CronJob, Job
from jobs.schedules.reading import read
from jobs.states import State
from jobs.testing import age
from tests.leasing import BROKEN, claim, settle
from tests.scheduling import HOUR, missed, planned, skips, slots, tick

pytestmark = pytest.mark.django_db


def pending(schedule: CronJob) -> None:
    """The first slot's job is there, and waits."""


def running(schedule: CronJob) -> None:
    claim()


def backing_off(schedule: CronJob) -> None:
    (claimed,) = claim()
    settle(claimed.lease, BROKEN)
    assert Job.objects.get().state == State.SCHEDULED


def cancelling(schedule: CronJob) -> None:
    claim()
    Job.objects.all().cancel()


UNFINISHED = [pending, running, backing_off, cancelling]


def with_predecessor(overlap: str, how: object = pending) -> CronJob:
    """Return a schedule whose second slot is due while the job of the first is unfinished."""
    schedule = missed(1, overlap=overlap)
    tick()
    how(schedule)  # type: ignore[operator]
    age(schedule, HOUR)
    tick()
    schedule.refresh_from_db()
    return schedule


@pytest.mark.parametrize("how", UNFINISHED)
def test_allow_runs_beside_it(how: object) -> None:
    schedule = with_predecessor("allow", how)

    assert (len(slots(schedule)), skips(schedule), schedule.waiting_for) == (2, [], None)


@pytest.mark.parametrize("how", UNFINISHED)
def test_skip_leaves_an_event(how: object) -> None:
    schedule = with_predecessor("skip", how)

    assert (len(slots(schedule)), skips(schedule), schedule.waiting_for) == (1, [("overlap", 1)], None)


@pytest.mark.parametrize("how", UNFINISHED)
def test_queue_one_waits_for_the_end(how: object) -> None:
    schedule = with_predecessor("queue_one", how)

    assert (len(slots(schedule)), skips(schedule)) == (1, [])
    assert schedule.waiting_for is not None
    finish_all()
    tick()
    schedule.refresh_from_db()
    assert (len(slots(schedule)), schedule.waiting_for) == (2, None)


def test_queue_one_keeps_the_newest() -> None:
    schedule = with_predecessor("queue_one")
    newest = schedule.waiting_for
    age(schedule, HOUR)

    tick()

    schedule.refresh_from_db()
    # An hour has passed, so the newest slot is again where the first one was.
    assert schedule.waiting_for == newest
    assert skips(schedule) == [("replaced", 1)]


def test_queue_one_runs_the_waiting_one_before_the_next() -> None:
    schedule = with_predecessor("queue_one")
    waiting = schedule.waiting_for
    finish_all()
    age(schedule, HOUR)

    tick()

    schedule.refresh_from_db()
    assert waiting is not None
    assert len(slots(schedule)) == 2
    assert schedule.waiting_for is not None
    assert skips(schedule) == []


def test_cancel_running_cancels_a_pending_one_and_runs() -> None:
    schedule = with_predecessor("cancel_running", pending)

    tick()

    old, new = Job.objects.order_by("pk")
    assert (old.state, new.state) == (State.CANCELLED, State.PENDING)
    schedule.refresh_from_db()
    assert schedule.waiting_for is None


def test_cancel_running_waits_until_a_running_one_obeys() -> None:
    schedule = missed(1, overlap="cancel_running")
    tick()
    (claimed,) = claim()
    age(schedule, HOUR)

    tick()
    tick()

    job = Job.objects.get()
    assert job.cancel_requested_at is not None
    leases.release([claimed.lease], started=True, using="default")
    tick()
    assert [one.state for one in Job.objects.order_by("pk")] == [State.CANCELLED, State.PENDING]


def test_what_is_run_by_hand_does_not_count() -> None:
    schedule = planned(overlap="skip")
    schedule.trigger()
    age(schedule, HOUR)

    tick()

    assert (len(slots(schedule)), skips(schedule)) == (1, [])


def test_all_missed_ones_queue_up_as_one() -> None:
    schedule = missed(3, overlap="queue_one", catch_up="all")

    tick()

    schedule.refresh_from_db()
    assert (len(slots(schedule)), skips(schedule)) == (1, [("replaced", 1)])
    assert schedule.waiting_for is not None


def test_a_range_of_replaced_slots_has_no_other_slot_in_it() -> None:
    schedule = with_predecessor("queue_one")
    CronJob.objects.update(catch_up="all", catch_up_limit=2)
    age(schedule, 3 * HOUR)

    tick()

    assert skips(schedule) == [("replaced", 1), ("limit", 1), ("replaced", 1)]


def test_many_that_wait_do_not_hold_up_one_that_need_not() -> None:
    stuck = [planned(overlap="queue_one") for _ in range(4)]
    free = planned(overlap="queue_one")
    for schedule in (*stuck, free):
        age(schedule, HOUR)
    tick()
    for schedule in (*stuck, free):
        schedule.refresh_from_db()
        age(schedule, HOUR)
    tick()
    Job.objects.filter(cron_id=free.pk).cancel()

    schedules.tick(limit=3, using="default")

    free.refresh_from_db()
    assert (free.waiting_for, len(slots(free))) == (None, 2)


def test_what_still_waits_is_not_written_at_each_look() -> None:
    with_predecessor("queue_one")
    before = list(CronJob.objects.values())

    assert tick() == 0

    assert list(CronJob.objects.values()) == before
    assert read(10, besides=(), using="default") == []


def test_a_waiting_slot_that_cannot_become_a_job_is_put_off_too() -> None:
    schedule = with_predecessor("queue_one")
    finish_all()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_cronjob SET queue = 'a,b'")

    tick()

    schedule.refresh_from_db()
    assert "queue" in schedule.error
    assert schedule.waiting_for is not None
    assert read(10, besides=(), using="default") == []
    CronJob.objects.update(queue="mended")
    tick()
    schedule.refresh_from_db()
    assert (schedule.waiting_for, schedule.error, len(slots(schedule))) == (None, "", 2)


def test_a_waiting_slot_is_dropped_when_the_schedule_is_disabled() -> None:
    schedule = with_predecessor("queue_one")
    CronJob.objects.update(enabled=False)

    tick()
    finish_all()
    CronJob.objects.update(enabled=True)
    tick()

    schedule.refresh_from_db()
    assert schedule.waiting_for is None
    assert len(slots(schedule)) == 1
    assert ("paused", 1) in skips(schedule)


def test_a_waiting_slot_runs_once_nothing_forbids_it_any_more() -> None:
    schedule = with_predecessor("queue_one")
    CronJob.objects.update(overlap="allow")

    tick()

    schedule.refresh_from_db()
    assert (schedule.waiting_for, len(slots(schedule))) == (None, 2)


def finish_all() -> None:
    """Bring every live job to its end, without a tick."""
    Job.objects.scheduled().trigger()
    claim()
    for job in Job.objects.running():
        settle(leases.Lease(job.pk, job.claim_no))
