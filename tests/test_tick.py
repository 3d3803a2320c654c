"""The tick: each slot once, misses with reasons, and no schedule that stops another."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings

from jobs import clock, schedules
from jobs.models import CronJob, Job, JobEvent
from jobs.slots import NEVER
from jobs.states import State
from jobs.testing import age, run_jobs
from tests.leasing import in_threads
from tests.scheduling import HOUR, make, missed, now, planned, skips, slots, tick

pytestmark = pytest.mark.django_db
tick_module = import_module("jobs.schedules.tick")

on_postgresql = pytest.mark.skipif("sqlite" in connection.vendor, reason="SQLite has no row locks")


def test_a_new_schedule_is_planned_and_runs_nothing() -> None:
    schedule = make()

    assert tick() == 1

    schedule.refresh_from_db()
    assert schedule.next_run_at is not None
    assert now() < schedule.next_run_at <= now() + timedelta(hours=1)
    assert Job.objects.count() == 0


def test_a_due_slot_becomes_a_pending_job() -> None:
    schedule = planned(payload={"a": 1}, queue="q", priority=5)
    age(schedule, HOUR)
    due = schedule.next_run_at

    assert tick() == 1

    job = Job.objects.get()
    assert (job.kind, job.payload, job.queue, job.priority, job.state) == ("noop", {"a": 1}, "q", 5, State.PENDING)
    assert (job.cron_id, job.scheduled_for, job.run_at, job.origin) == (schedule.pk, due, due, Job.Origin.SLOT)
    schedule.refresh_from_db()
    assert (schedule.last_scheduled_for, schedule.last_job_id) == (due, job.pk)
    assert schedule.next_run_at == due + timedelta(hours=1)


def test_a_second_tick_finds_nothing_to_do() -> None:
    schedule = missed(1)
    tick()

    assert tick() == 0
    assert len(slots(schedule)) == 1


@pytest.mark.parametrize(
    ("policy", "ran", "skipped"),
    [
        ({"catch_up": "latest"}, 1, [("catch_up", 2)]),
        ({"catch_up": "all"}, 3, []),
        ({"catch_up": "all", "catch_up_limit": 2}, 2, [("limit", 1)]),
        ({"catch_up": "skip"}, 0, [("catch_up", 3)]),
        ({"catch_up": "latest", "catch_up_window": 0}, 0, [("window", 3)]),
        ({"catch_up": "all", "catch_up_window": HOUR}, 1, [("window", 2)]),
    ],
    ids=["latest", "all", "limit", "skip", "window", "all within the window"],
)
def test_three_missed_slots(policy: dict[str, Any], ran: int, skipped: list[tuple[str, int]]) -> None:
    schedule = missed(3, **policy)

    tick()

    assert (len(slots(schedule)), skips(schedule)) == (ran, skipped)
    schedule.refresh_from_db()
    assert schedule.next_run_at > now()


def test_a_year_of_missed_minutes_costs_one_job_and_one_event() -> None:
    schedule = planned(expression="* * * * *", timezone="Europe/Berlin")
    age(schedule, 365 * 86_400)

    tick()

    assert len(slots(schedule)) == 1
    ((reason, count),) = skips(schedule)
    assert reason == "catch_up"
    assert count == pytest.approx(365 * 1_440, abs=2)


@pytest.mark.parametrize(("late", "ran"), [(5, 1), (120, 0)], ids=["on time", "missed"])
def test_a_slot_that_is_a_little_late_runs_even_where_missed_ones_are_skipped(late: int, ran: int) -> None:
    schedule = make(catch_up="skip", every=HOUR, starts_at=now() - timedelta(seconds=HOUR + late))
    CronJob.objects.update(next_run_at=clock.in_seconds(-late), rescheduled_at=clock.in_seconds(-HOUR / 2))

    tick()

    assert (len(slots(schedule)), skips(schedule)) == (ran, [] if ran else [("catch_up", 1)])


def test_a_slot_that_ran_does_not_run_again_once_its_job_is_pruned() -> None:
    schedule = missed(1)
    tick()
    Job.objects.all().delete()
    CronJob.objects.update(next_run_at=clock.in_seconds(-HOUR))

    tick()

    assert slots(schedule) == []


def test_a_backfilled_slot_is_not_run_twice() -> None:
    schedule = missed(1)
    Job.objects.enqueue("noop")
    Job.objects.update(cron=schedule, scheduled_for=schedule.next_run_at)

    tick()

    assert Job.objects.count() == 1


def test_a_slot_whose_unique_key_is_taken_is_an_event() -> None:
    schedule = missed(1, unique_key="k")
    Job.objects.enqueue("noop", unique_key="k")

    tick()

    assert (slots(schedule), skips(schedule)) == ([], [("unique_key", 1)])
    schedule.refresh_from_db()
    assert schedule.last_job_id is None
    assert schedule.next_run_at > now()


def test_the_end_is_an_event_and_then_nothing_more() -> None:
    schedule = planned(ends_at=now() + timedelta(hours=1, minutes=30))
    age(schedule, HOUR)

    tick()
    assert len(slots(schedule)) == 1
    age(schedule, HOUR)
    CronJob.objects.update(ends_at=clock.in_seconds(-60))
    tick()

    schedule.refresh_from_db()
    assert schedule.is_over
    assert ("ended", 1) in skips(schedule)
    assert tick() == 0


def test_no_slot_before_the_start() -> None:
    start = now() + timedelta(days=2)
    schedule = planned(expression="0 15 * * *", timezone="UTC", starts_at=start)

    assert schedule.next_run_at >= start
    assert schedule.next_run_at - start < timedelta(days=1)


def test_an_interval_counts_from_its_start() -> None:
    start = now() - timedelta(seconds=95)

    schedule = planned(every=60, starts_at=start)

    assert schedule.next_run_at == start + timedelta(seconds=120)


def test_jitter_spreads_and_stays() -> None:
    schedules_ = [planned(expression="0 * * * *", jitter=60) for _ in range(20)]

    offsets = {(one.next_run_at.minute, one.next_run_at.second, one.next_run_at.microsecond) for one in schedules_}

    assert all(minute == 0 for minute, _, _ in offsets)
    assert len(offsets) > 15
    CronJob.objects.update(next_run_at=None)
    tick()
    again = CronJob.objects.order_by("pk").values_list("next_run_at", flat=True)
    assert [one.next_run_at for one in schedules_] == list(again)


def test_the_slot_of_a_jittered_run_is_the_rule_s_own_moment() -> None:
    schedule = planned(jitter=600)
    age(schedule, 2 * HOUR)

    tick()

    (moment,) = slots(schedule)
    job = Job.objects.get()
    assert (moment.minute, moment.second) == (0, 0)
    assert timedelta(0) <= job.run_at - moment < timedelta(seconds=600)


def test_a_broken_schedule_stops_no_other_and_says_why() -> None:
    good, broken = missed(1), missed(1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_cronjob SET kind = %s WHERE id = %s", ["", broken.pk])
        cursor.execute(
            "UPDATE jobs_cronjob SET next_run_at = %s WHERE id = %s", [now() - timedelta(hours=3), broken.pk]
        )

    tick()

    broken.refresh_from_db()
    assert (len(slots(good)), len(slots(broken))) == (1, 0)
    assert "kind=''" in broken.error
    assert broken.is_over
    assert tick() == 0


def test_a_rule_that_cannot_be_followed_is_an_error_on_the_row(caplog: pytest.LogCaptureFixture) -> None:
    schedule = missed(1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_cronjob SET expression = 'nonsense', every = NULL")

    tick()

    schedule.refresh_from_db()
    assert "nonsense" in schedule.error
    assert "schedule stopped" in caplog.text
    schedule.expression = "@hourly"
    schedule.save()
    tick()
    schedule.refresh_from_db()
    assert (schedule.error, schedule.is_over) == ("", False)


def test_a_kind_that_is_unknown_here_is_left_to_those_who_know_it() -> None:
    schedule = missed(0)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_cronjob SET kind = 'from.the.next.release'")
    CronJob.objects.update(next_run_at=clock.in_seconds(-60), rescheduled_at=clock.in_seconds(-HOUR))

    assert tick() == 0
    CronJob.objects.update(next_run_at=clock.in_seconds(-700))
    assert tick() == 1
    assert len(slots(schedule)) == 1


def test_arguments_that_no_longer_fit_stop_the_schedule() -> None:
    schedule = missed(1, kind="echo", payload={"value": 1})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_cronjob SET payload = '{\"other\": 1}'")

    tick()

    schedule.refresh_from_db()
    assert "do not fit" in schedule.error


def test_expires_after_counts_from_the_tick() -> None:
    missed(1, expires_after=90)

    tick()

    job = Job.objects.get()
    assert job.expires_at is not None
    assert timedelta(seconds=80) < job.expires_at - now() <= timedelta(seconds=90)


def test_more_schedules_than_a_batch() -> None:
    for _ in range(7):
        make()

    done = [schedules.tick(limit=3, using="default") for _ in range(4)]

    assert done == [3, 3, 1, 0]


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_ticks_at_the_same_time_make_one_job_of_a_slot() -> None:
    made = [planned() for _ in range(30)]
    for schedule in made:
        age(schedule, HOUR)

    done = in_threads(*[tick] * 4)

    assert sum(done) >= 30
    assert [len(slots(schedule)) for schedule in made] == [1] * 30


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_schedule_that_somebody_has_locked_is_passed_over() -> None:
    held, free = planned(), planned()
    age(held, HOUR)
    age(free, HOUR)
    with transaction.atomic():
        CronJob.objects.select_for_update().get(pk=held.pk)
        (done,) = in_threads(tick)

    assert (done, slots(held), len(slots(free))) == (1, [], 1)


def test_a_next_run_that_is_too_far_away_is_planned_anew(caplog: pytest.LogCaptureFixture) -> None:
    schedule = planned()
    right = schedule.next_run_at
    CronJob.objects.update(next_run_at=clock.in_seconds(8 * HOUR), last_scheduled_for=clock.in_seconds(8 * HOUR))

    assert heal() == [schedule.name]
    tick()

    schedule.refresh_from_db()
    assert schedule.next_run_at == right
    assert "planned anew" in caplog.text
    assert heal() == []


def test_the_healer_goes_through_all_and_begins_again() -> None:
    made = [planned() for _ in range(5)]
    healer = schedules.Healer(using="default", limit=2)
    CronJob.objects.filter(pk=made[4].pk).update(next_run_at=clock.in_seconds(8 * HOUR))

    healed = [healer.run_once() for _ in range(3)]
    CronJob.objects.filter(pk=made[0].pk).update(next_run_at=clock.in_seconds(8 * HOUR))

    assert healed == [[], [], [made[4].name]]
    assert healer.run_once() == [made[0].name]


def test_what_is_over_or_disabled_is_not_healed() -> None:
    planned(ends_at=now() + timedelta(seconds=1))
    planned(enabled=False)

    assert heal() == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda: CronJob.objects.update(enabled=False),
        lambda: CronJob.objects.update(every=2 * HOUR),
        lambda: CronJob.objects.all().delete(),
    ],
    ids=["disable", "edit", "delete"],
)
def test_an_edit_between_the_reading_and_the_writing_wins(edit: Callable[[], object]) -> None:
    missed(1)
    batch = tick_module._read(10, using="default")
    for one in batch:
        tick_module._decide(one)

    edit()
    rows = list(CronJob.objects.values())
    done = tick_module._carry_out_or_divide(batch, using="default")

    assert (len(batch), done) == (1, 0)
    assert list(CronJob.objects.values()) == rows
    assert Job.objects.count() == 0


def heal() -> list[str]:
    return schedules.Healer(using="default").run_once()


def test_deleted_in_sql_fires_no_more() -> None:
    missed(1)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM jobs_cronjob")

    assert tick() == 0
    assert Job.objects.count() == 0


def test_run_jobs_runs_what_schedules_are_due() -> None:
    missed(1)

    (ran,) = run_jobs()

    assert ran.kind == "noop"


def test_events_name_the_slots() -> None:
    missed(3)

    tick()

    event = JobEvent.objects.get()
    assert set(event.slots) == {"reason", "first", "last", "count"}
    assert event.slots["first"] < event.slots["last"] < now().isoformat()
    assert "catch-up" in event.reason


def test_an_ended_schedule_keeps_never_as_its_next_run() -> None:
    schedule = planned(ends_at=now() + timedelta(seconds=1), starts_at=now() - timedelta(days=1), every=86_400 * 30)

    assert schedule.next_run_at == NEVER


@on_postgresql
@override_settings(USE_TZ=False, TIME_ZONE="Europe/Berlin")
@pytest.mark.parametrize(
    "moment", [datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)]
)
def test_without_use_tz_both_passes_of_an_hour_are_told_apart(moment: datetime) -> None:
    schedule = make()

    CronJob.objects.update(next_run_at=clock.at(moment))

    read = CronJob.objects.annotate(instant=clock.Instant("next_run_at")).get(pk=schedule.pk)
    assert read.instant == moment  # type: ignore[attr-defined]
    assert read.next_run_at == datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001 (naive is what such a site sees)


@on_postgresql
@override_settings(USE_TZ=False, TIME_ZONE="Europe/Moscow")
def test_without_use_tz_a_slot_runs_once() -> None:
    schedule = make(every=60)
    tick()
    CronJob.objects.update(next_run_at=clock.in_seconds(-60), rescheduled_at=clock.in_seconds(-120))

    assert [tick(), tick()] == [1, 0]

    job = Job.objects.get(cron_id=schedule.pk)
    read = Job.objects.annotate(instant=clock.Instant("scheduled_for")).get()
    assert job.state == State.PENDING
    assert timedelta(0) <= now() - read.instant <= timedelta(seconds=61)  # type: ignore[attr-defined]
