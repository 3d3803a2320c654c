"""The tick: each slot once, misses with reasons, and no schedule that stops another."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import override_settings

from jobs import clock, schedules, sql
from jobs.models import CronJob, Job, JobEvent
from jobs.schedules.reading import read
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
    schedule = due_since(late, catch_up="skip")

    tick()

    assert (len(slots(schedule)), skips(schedule)) == (ran, [] if ran else [("catch_up", 1)])


def test_a_stall_costs_a_quick_schedule_that_skips_only_what_is_old() -> None:
    schedule = due_since(40.5, catch_up="skip", every=20)

    tick()

    assert (len(slots(schedule)), skips(schedule)) == (1, [("catch_up", 2)])


def test_a_window_of_nothing_is_still_as_long_as_a_tick_may_be_late() -> None:
    schedule = due_since(5, catch_up_window=0)

    tick()

    assert len(slots(schedule)) == 1


def due_since(seconds: float, *, every: int = HOUR, **values: Any) -> CronJob:
    """Return a schedule whose next slot was so many seconds ago."""
    slot = now() - timedelta(seconds=seconds)
    schedule = make(every=every, starts_at=slot - timedelta(seconds=every), **values)
    CronJob.objects.filter(pk=schedule.pk).update(next_run_at=slot)
    return schedule


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
    schedule = due_since(5, ends_at=now() + timedelta(minutes=30))

    tick()

    schedule.refresh_from_db()
    assert (len(slots(schedule)), skips(schedule)) == (1, [("ended", 1)])
    assert schedule.is_over
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
    schedule = planned(jitter=600, starts_at=None)
    age(schedule, 2 * HOUR)

    tick()

    (moment,) = slots(schedule)
    job = Job.objects.get()
    assert (moment.minute, moment.second) == (0, 0)
    assert timedelta(0) <= job.run_at - moment < timedelta(seconds=600)


def raw(statement: str, *params: object) -> None:
    """Do to a row what neither ``save`` nor ``update`` would."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params or None)


BREAKAGES = [
    "expression = 'nonsense', every = NULL",
    "timezone = 'Europe/Atlantis', expression = '@hourly', every = NULL",
    "overlap = 'Skip'",
    "catch_up = 'some'",
    "expires_after = 1e300",
    "kind = ''",
    "kind = 'echo'",
    "queue = 'a,b'",
]


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_schedule_holds_up_no_other_and_says_why(breakage: str, caplog: pytest.LogCaptureFixture) -> None:
    good, broken, other = planned(), planned(), planned()
    raw(f"UPDATE jobs_cronjob SET {breakage} WHERE id = {broken.pk}")
    # Long ago, so that a kind without a handler is tried here too.
    for schedule in (good, broken, other):
        age(schedule, 2 * HOUR)

    tick()

    broken.refresh_from_db()
    assert [len(slots(one)) for one in (good, broken, other)] == [1, 0, 1]
    assert broken.error
    assert not broken.is_over
    assert f"schedule put off schedule={broken.name}" in caplog.text
    assert tick() == 0


def test_what_was_put_off_is_tried_again_and_catches_up() -> None:
    schedule = missed(1, kind="echo", payload={"value": 1}, catch_up="all")
    raw("UPDATE jobs_cronjob SET payload = '{\"other\": 1}'")
    tick()
    raw("UPDATE jobs_cronjob SET payload = '{\"value\": 2}'")
    assert tick() == 0
    age(schedule, HOUR)

    assert tick() == 1

    schedule.refresh_from_db()
    assert (schedule.error, schedule.put_off_until, len(slots(schedule))) == ("", None, 2)


def by_update(schedule: CronJob) -> None:
    CronJob.objects.update(payload={"value": 2})


def by_save(schedule: CronJob) -> None:
    schedule.payload = {"value": 2}
    schedule.save()


@pytest.mark.parametrize("mend", [by_update, by_save])
def test_an_edit_makes_what_was_put_off_be_tried_at_once(mend: Callable[[CronJob], None]) -> None:
    schedule = missed(1, kind="echo", payload={"value": 1})
    raw("UPDATE jobs_cronjob SET payload = '{\"other\": 1}'")
    tick()
    schedule.refresh_from_db()
    assert "do not fit" in schedule.error

    mend(schedule)
    tick()

    schedule.refresh_from_db()
    assert (schedule.error, len(slots(schedule))) == ("", 1)


@on_postgresql
@pytest.mark.parametrize("value", ["infinity", "-infinity", "0300-01-01 BC"])
@pytest.mark.parametrize("column", ["starts_at", "ends_at", "next_run_at", "waiting_for", "rescheduled_at"])
def test_times_that_python_has_not_are_refused_by_the_database(column: str, value: str) -> None:
    planned()

    with pytest.raises(IntegrityError, match="cronjob_times_in_range"), transaction.atomic():
        raw(f"UPDATE jobs_cronjob SET {column} = %s", value)


@on_postgresql
def test_a_trigger_of_the_site_that_raises_holds_up_only_its_schedule() -> None:
    good, bad = planned(), planned(queue="forbidden")
    for schedule in (good, bad):
        age(schedule, HOUR)
    raw(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        "IF NEW.queue = 'forbidden' THEN RAISE EXCEPTION 'not here'; END IF; RETURN NEW; END$$;"
        "CREATE TRIGGER refuse BEFORE INSERT ON jobs_job FOR EACH ROW EXECUTE FUNCTION refuse()"
    )

    tick()

    bad.refresh_from_db()
    assert (len(slots(good)), len(slots(bad))) == (1, 0)
    assert "not here" in bad.error


def test_a_kind_that_is_unknown_here_is_left_to_those_who_know_it() -> None:
    schedule = due_since(60)
    raw("UPDATE jobs_cronjob SET kind = 'from.the.next.release'")

    assert tick() == 0
    age(schedule, 2 * HOUR)
    assert tick() == 1
    assert len(slots(schedule)) == 1


def test_expires_after_counts_from_the_tick() -> None:
    schedule = missed(1, expires_after=90)

    tick()

    job = Job.objects.get()
    schedule.refresh_from_db()
    assert job.expires_at is not None
    assert schedule.last_run_at is not None
    assert job.expires_at - schedule.last_run_at == timedelta(seconds=90)


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
def test_schedules_that_somebody_has_locked_are_passed_over() -> None:
    held, free = [planned() for _ in range(6)], [planned() for _ in range(3)]
    for schedule in held:
        age(schedule, 2 * HOUR)
    for schedule in free:
        age(schedule, HOUR)
    with transaction.atomic():
        list(CronJob.objects.filter(pk__in=[one.pk for one in held]).select_for_update())
        # They are due for longer, and more than fit into a batch.
        (done,) = in_threads(lambda: schedules.tick(limit=3, using="default"))

    assert (done, [len(slots(one)) for one in [*held, *free]]) == (3, [0] * 6 + [1] * 3)


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_an_uncommitted_job_with_its_key_holds_up_one_schedule_for_a_moment() -> None:
    blocked, free = planned(unique_key="k"), planned()
    for schedule in (blocked, free):
        age(schedule, HOUR)
    with transaction.atomic():
        Job.objects.enqueue("noop", unique_key="k")
        (done,) = in_threads(tick)
        transaction.set_rollback(True)

    assert (done, len(slots(free)), slots(blocked)) == (1, 1, [])
    blocked.refresh_from_db()
    assert blocked.error == ""
    CronJob.objects.update(put_off_until=clock.now())
    assert (tick(), len(slots(blocked))) == (1, 1)


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_ticks_that_share_keys_do_not_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    # Longer than a deadlock takes to be found, and than a busy machine keeps a tick from its commit.
    monkeypatch.setattr(sql, "PATIENCE_POSTGRESQL", "SET LOCAL lock_timeout = '30s'")
    made = [planned(unique_key=f"k{number % 5}") for number in range(40)]
    for schedule in made:
        age(schedule, HOUR)

    results = in_threads(*[lambda: [schedules.tick(limit=7, using="default") for _ in range(8)]] * 4)

    assert not [one for one in results if isinstance(one, Exception)]
    assert Job.objects.filter(origin=Job.Origin.SLOT).count() == 5
    assert sum(len(skips(schedule)) for schedule in made) == 35


def test_large_payloads_travel_in_several_statements() -> None:
    schedule = missed(20, catch_up="all", payload={"text": "x" * 500_000})

    tick()

    assert len(slots(schedule)) == 20


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
    readings = read(10, besides=(), using="default")

    edit()
    rows = list(CronJob.objects.values())
    held = tick_module._carry_out_or_divide(readings, using="default")

    assert (len(readings), held) == (1, [])
    assert list(CronJob.objects.values()) == rows
    assert Job.objects.count() == 0


def test_a_payload_edited_between_the_reading_and_the_writing_is_the_new_one() -> None:
    missed(1)
    readings = read(10, besides=(), using="default")

    CronJob.objects.update(payload={"new": True})
    tick_module._carry_out_or_divide(readings, using="default")

    assert Job.objects.get().payload == {"new": True}


def test_an_edit_before_a_schedule_is_put_off_wins() -> None:
    schedule = missed(1)
    (reading,) = read(10, besides=(), using="default")

    CronJob.objects.update(every=2 * HOUR)
    tick_module._put_off(reading, ValueError("old"), using="default")

    schedule.refresh_from_db()
    assert (schedule.error, schedule.put_off_until) == ("", None)


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
    schedule = make()
    tick()
    age(schedule, HOUR)

    assert [tick(), tick()] == [1, 0]

    job = Job.objects.annotate(instant=clock.Instant("scheduled_for")).get()
    assert job.state == State.PENDING
    assert timedelta(0) <= now() - job.instant <= timedelta(hours=1)  # type: ignore[attr-defined]
