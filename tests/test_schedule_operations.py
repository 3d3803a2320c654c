"""Running, backfilling, enabling and disabling schedules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError, connection
from django.test import override_settings

from jobs import job as job_decorator
from jobs import operations, schedules
from jobs.exceptions import DuplicateJob, InvalidJob, InvalidSchedule
from jobs.models import CronJob, Job, JobEvent
from jobs.operations import Actor
from jobs.states import State
from jobs.testing import age
from tests.jobs import noop
from tests.leasing import in_threads
from tests.processes import FAST
from tests.registering import own_registry
from tests.scheduling import HOUR, make, missed, now, planned, slots, tick
from tests.working import burst, running, wait_until

pytestmark = pytest.mark.django_db
ALICE = Actor("1", "alice")


def test_run_now_adds_one_job_and_leaves_the_next_slot() -> None:
    schedule = planned(payload={"a": 1}, priority=7)
    due = schedule.next_run_at

    job = schedule.trigger(actor=ALICE, reason="to see")

    assert (job.payload, job.priority, job.cron_id, job.scheduled_for) == ({"a": 1}, 7, schedule.pk, None)
    assert (job.origin, job.state) == (Job.Origin.MANUAL, State.PENDING)
    schedule.refresh_from_db()
    assert schedule.next_run_at == due
    event = JobEvent.objects.get()
    assert (event.kind, event.cron_id, event.job_id, event.actor_label) == ("triggered", schedule.pk, job.pk, "alice")


def test_run_now_with_a_taken_key_says_so() -> None:
    schedule = planned(unique_key="k")
    schedule.trigger()

    with pytest.raises(DuplicateJob, match="unique key 'k'"):
        schedule.trigger()

    assert Job.objects.count() == 1


def test_run_now_and_backfill_ask_for_the_permission_of_the_kind() -> None:
    with own_registry():
        job_decorator("refund", permission="auth.add_user")(lambda: None)
        schedule = planned(kind="refund")

        nobody = Actor("1", "alice", permits=lambda permission: False)
        with pytest.raises(PermissionDenied, match=r"has auth\.add_user"):
            schedule.trigger(actor=nobody)
        with pytest.raises(PermissionDenied, match=r"has auth\.add_user"):
            back(schedule, 3, actor=nobody)
        assert not Job.objects.exists()
        assert schedule.trigger(actor=ALICE).kind == "refund"


def test_a_disabled_schedule_may_be_run_by_hand() -> None:
    schedule = planned(enabled=False)

    assert schedule.trigger().state == State.PENDING


def test_toggling_tells_which_were_changed_and_by_whom() -> None:
    on, off = planned(name="on"), planned(name="off", enabled=False)

    assert operations.disable(CronJob.objects.all(), actor=ALICE, reason="maintenance") == ["on"]
    assert operations.enable(CronJob.objects.all(), actor=ALICE) == ["off", "on"]

    events = JobEvent.objects.order_by("pk").values_list("kind", "cron_id", "actor_label", "reason")
    assert events[0] == ("disabled", on.pk, "alice", "maintenance")
    assert {cron_id for kind, cron_id, *_ in events if kind == "enabled"} == {on.pk, off.pk}


def test_enabling_asks_for_the_permission_of_the_kind_and_disabling_does_not() -> None:
    with own_registry():
        job_decorator("refund", permission="auth.add_user", aliases=["repay"])(lambda: None)
        for name, kind in (("new", "refund"), ("old", "repay"), ("other", "noop")):
            planned(name=name, kind=kind, enabled=False)
        nobody = Actor("1", "alice", permits=lambda permission: False)

        enabled = operations.enable(CronJob.objects.all(), actor=nobody)
        disabled = operations.disable(CronJob.objects.all(), actor=nobody)

        assert (enabled, disabled) == (["other"], ["other"])
        assert operations.enable(CronJob.objects.all(), actor=ALICE) == ["new", "old", "other"]
        assert operations.disable(CronJob.objects.all(), actor=nobody) == ["new", "old", "other"]


def back(schedule: CronJob, hours: int, **options: Any) -> operations.Backfill:
    return operations.backfill(schedule, now() - timedelta(hours=hours), now(), **options)


def test_backfill_makes_the_past_slots_once() -> None:
    schedule = planned()

    first, second = back(schedule, 5, actor=ALICE), back(schedule, 5)

    assert (len(first.missing), len(second.missing), len(second.present)) == (5, 0, 5)
    assert slots(schedule) == first.missing
    assert set(Job.objects.values_list("origin", flat=True)) == {Job.Origin.BACKFILL}
    event = JobEvent.objects.get()
    assert (event.kind, event.slots["count"], event.actor_label) == ("backfilled", 5, "alice")


def test_a_dry_run_writes_nothing() -> None:
    schedule = planned()

    found = back(schedule, 3, dry_run=True)

    assert len(found.missing) == 3
    assert (Job.objects.count(), JobEvent.objects.count()) == (0, 0)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("change", "message"),
    [({"kind": "gone"}, "No handler is registered for kind 'gone'"), ({"kind": "echo"}, "The arguments do not fit")],
    ids=["kind", "arguments"],
)
def test_backfill_refuses_jobs_that_could_not_run(change: dict[str, str], message: str, *, dry_run: bool) -> None:
    schedule = planned()
    CronJob.objects.update(**change)
    schedule.refresh_from_db()

    with pytest.raises(InvalidJob, match=message):
        back(schedule, 3, dry_run=dry_run)
    assert not Job.objects.exists()


def test_backfill_leaves_the_slots_that_ran() -> None:
    schedule = missed(1)
    tick()

    found = back(schedule, 3)

    assert (len(found.missing), len(found.present)) == (2, 1)


def test_backfill_is_limited() -> None:
    with pytest.raises(InvalidSchedule, match="There are 10 slots in that time: backfill at most 3 at once"):
        back(planned(), 10, limit=3)


def test_backfill_takes_no_future_and_no_reversed_time() -> None:
    schedule = planned()

    with pytest.raises(InvalidSchedule, match="is not past"):
        operations.backfill(schedule, now(), now() + timedelta(hours=1))
    with pytest.raises(InvalidSchedule, match="before the beginning"):
        operations.backfill(schedule, now(), now() - timedelta(hours=1))


def test_backfilled_slots_with_one_key_are_told_apart() -> None:
    schedule = planned(unique_key="k")

    found = back(schedule, 3)

    assert (len(found.missing), len(found.refused)) == (1, 2)


@pytest.mark.skipif("sqlite" in connection.vendor, reason="SQLite has no row locks")
@pytest.mark.django_db(transaction=True)
def test_backfill_and_tick_at_once_make_one_job_of_a_slot() -> None:
    schedule = planned(catch_up="all")
    age(schedule, 5 * HOUR)

    in_threads(tick, lambda: back(schedule, 5), lambda: back(schedule, 5))

    assert len(slots(schedule)) == len(set(slots(schedule))) == 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ["disable", "delete"])
def test_a_queued_slot_without_its_schedule_is_cancelled_before_it_runs(end: str) -> None:
    schedule = missed(1)
    tick()
    by_hand = schedule.trigger()
    if end == "delete":
        schedule.delete()
    else:
        CronJob.objects.update(enabled=False)

    burst()

    slot = Job.objects.get(origin=Job.Origin.SLOT)
    assert (slot.state, slot.error) == (State.CANCELLED, "Its schedule was disabled or deleted before it could start.")
    assert not slot.runs.exists()
    by_hand.refresh_from_db()
    assert by_hand.state == State.SUCCEEDED


@pytest.mark.django_db(transaction=True)
def test_what_a_person_retries_runs_though_its_schedule_is_disabled() -> None:
    missed(1)
    tick()
    CronJob.objects.update(enabled=False)
    Job.objects.all().cancel()
    Job.objects.all().retry()

    burst()

    assert Job.objects.get().state == State.SUCCEEDED


def test_what_is_not_stored_can_be_neither_run_nor_backfilled() -> None:
    unsaved, deleted = CronJob(name="n", kind="noop", every=60), planned()
    CronJob.objects.all().delete()

    for schedule in (unsaved, deleted):
        with pytest.raises(InvalidSchedule, match="is not stored"):
            schedule.trigger()
        with pytest.raises(InvalidSchedule, match="is not stored"):
            back(schedule, 3)

    assert Job.objects.count() == 0


def test_a_slice_can_be_disabled() -> None:
    for number in range(3):
        make(name=f"n{number}")

    assert operations.disable(CronJob.objects.order_by("name")[:2]) == ["n0", "n1"]


@pytest.mark.django_db(transaction=True)
def test_a_tick_that_fails_holds_up_no_other_job(monkeypatch: pytest.MonkeyPatch) -> None:
    missed(1)
    noop.using(delay=0.1).enqueue()

    def fail(**_: object) -> int:
        raise OperationalError("statement timeout")

    monkeypatch.setattr(schedules, "tick", fail)
    with override_settings(JOBS=FAST), running() as worker:
        wait_until(lambda: Job.objects.succeeded().exists())
        # No outage: whoever sees one may not rescue for a heartbeat.
        assert worker.worker._last_outage < 0

    assert Job.objects.get().state == State.SUCCEEDED


@pytest.mark.django_db(transaction=True)
def test_a_worker_runs_what_is_due() -> None:
    make(every=1)
    schedule = missed(1)

    burst()

    assert Job.objects.get(cron_id=schedule.pk).state == State.SUCCEEDED


@pytest.mark.django_db(transaction=True)
@pytest.mark.long
def test_an_interval_longer_than_workers_live_still_runs() -> None:
    schedule = make(every=900, starts_at=now() - timedelta(seconds=1))

    with override_settings(JOBS=FAST):
        burst()
        for restart in range(1, 13):
            # Five minutes go by until the next start: after each third one a slot has come.
            age(schedule, 300)
            burst()
            assert Job.objects.count() == restart // 3
