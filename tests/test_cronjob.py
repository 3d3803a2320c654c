"""Schedules as rows: what is refused, and that every way to edit one does the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, connection, transaction

from jobs import clock, operations
from jobs.exceptions import InvalidSchedule
from jobs.models import CronJob, Job
from jobs.slots import offset
from jobs.testing import age
from tests.scheduling import HOUR, alike, halfway, make, missed, now, planned, skips, slots, tick

pytestmark = pytest.mark.django_db

BAD: list[tuple[dict[str, Any], str]] = [
    ({"expression": "61 * * * *"}, "61"),
    ({"expression": "* * * *"}, "has 4 fields"),
    ({"expression": "* * * * *", "every": 60}, "not both"),
    ({"expression": ""}, "not neither"),
    ({"every": 0}, "Interval 0"),
    ({"every": -5}, "Interval -5"),
    ({"timezone": "Europe/Atlantis"}, "Europe/Atlantis"),
    ({"timezone": ""}, "Time zone"),
    ({"timezone": timezone(timedelta(hours=2))}, "UTC"),
    ({"enabled": "no"}, "neither True nor False"),
    ({"enabled": None}, "neither True nor False"),
    ({"kind": "nobody.knows"}, "nobody.knows"),
    ({"kind": "echo", "payload": {"wrong": 1}}, "do not fit"),
    ({"payload": [1]}, "dictionary"),
    ({"payload": {1: 2}}, "dictionary"),
    ({"payload": {"x": float("nan")}}, "payload"),
    ({"args": "abc"}, "args"),
    ({"queue": "a,b"}, "queue"),
    ({"priority": 101}, "priority"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"timeout": 0}, "timeout"),
    ({"jitter": -1}, "jitter"),
    ({"catch_up": "some"}, "catch_up"),
    ({"catch_up_limit": 0}, "catch_up_limit"),
    ({"catch_up_window": -1}, "catch_up_window"),
    ({"overlap": "perhaps"}, "overlap"),
    ({"catch_up": "all", "overlap": "skip"}, "contradict"),
    ({"starts_at": datetime(1800, 1, 1, tzinfo=UTC)}, "out of range"),
    ({"ends_at": datetime(9999, 1, 1, tzinfo=UTC)}, "out of range"),
    ({"starts_at": datetime(2026, 1, 1)}, "has no time zone"),  # noqa: DTZ001 (it is refused)
    ({"name": ""}, "name"),
    ({"name": "a\x00b"}, "name"),
    ({"unique_key": "k" * 251}, "unique_key"),
    ({"expires_after": -1}, "expires_after"),
]


@pytest.mark.parametrize(("values", "message"), BAD, ids=str)
def test_bad_values_are_refused_by_every_way_in(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSchedule, match=message):
        make(**values)
    rule = {} if {"every", "expression"} & set(values) else {"every": HOUR}
    schedule = CronJob(**({"name": "n", "kind": "noop"} | rule | values))
    with pytest.raises(InvalidSchedule, match=message):
        CronJob.objects.bulk_create([schedule])
    with pytest.raises(ValidationError, match=message):
        schedule.clean()

    assert CronJob.objects.count() == 0


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="before starts_at"):
        make(starts_at=now(), ends_at=now() - timedelta(days=1))


def test_a_name_is_taken_once() -> None:
    make(name="nightly")

    with pytest.raises(IntegrityError), transaction.atomic():
        make(name="nightly")


def test_an_expression_is_stored_in_its_normal_form() -> None:
    assert make(expression="  5   4 * *  mon ").expression == "5 4 * * mon"


def test_two_rules_or_none_break_the_constraint() -> None:
    make()
    with connection.cursor() as cursor, pytest.raises(IntegrityError, match="cronjob_one_rule"), transaction.atomic():
        cursor.execute("UPDATE jobs_cronjob SET expression = '* * * * *'")


def by_save(schedule: CronJob, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(schedule, name, value)
    schedule.save()


def by_save_of_these_fields(schedule: CronJob, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(schedule, name, value)
    schedule.save(update_fields=list(changes))


def by_update(schedule: CronJob, **changes: Any) -> None:
    CronJob.objects.filter(pk=schedule.pk).update(**changes)


def by_bulk_update(schedule: CronJob, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(schedule, name, value)
    CronJob.objects.bulk_update([schedule], list(changes))


def by_operation(schedule: CronJob, *, enabled: bool) -> None:
    (operations.enable if enabled else operations.disable)(CronJob.objects.filter(pk=schedule.pk))


def by_update_or_create(schedule: CronJob, **changes: Any) -> None:
    CronJob.objects.update_or_create(name=schedule.name, defaults=changes)


def by_bulk_create(schedule: CronJob, **changes: Any) -> None:
    values = {name: getattr(schedule, name) for name in ("name", "kind", "expression", "every", "timezone", "payload")}
    CronJob.objects.bulk_create(
        [CronJob(**(values | changes))], update_conflicts=True, unique_fields=["name"], update_fields=list(changes)
    )


WAYS = [by_save, by_save_of_these_fields, by_update, by_bulk_update, by_update_or_create, by_bulk_create]
# An upsert does not see what the row was before.
SEEING = [way for way in WAYS if way is not by_bulk_create]
Way = Callable[..., None]


@pytest.mark.parametrize("edit", WAYS)
def test_an_edit_takes_effect_from_now_on_and_runs_nothing(edit: Way) -> None:
    schedule = planned(expression="0 12 * * *", timezone="UTC")

    edit(schedule, expression="*/5 * * * *")
    tick()

    schedule.refresh_from_db()
    assert timedelta(0) < schedule.next_run_at - schedule.rescheduled_at <= timedelta(minutes=5)
    assert (slots(schedule), skips(schedule)) == ([], [])


@pytest.mark.parametrize("edit", WAYS)
def test_an_edit_of_a_due_schedule_runs_nothing(edit: Way) -> None:
    schedule = missed(1)

    edit(schedule, every=2 * HOUR)
    tick()

    assert slots(schedule) == []


@pytest.mark.parametrize("edit", WAYS)
def test_an_edit_of_the_payload_does_not_touch_the_plan(edit: Way) -> None:
    schedule = missed(1)
    due = schedule.next_run_at

    edit(schedule, payload={"a": 2})

    schedule.refresh_from_db()
    assert schedule.next_run_at == due
    tick()
    assert Job.objects.get().payload == {"a": 2}


@pytest.mark.parametrize("edit", [*SEEING, by_operation])
def test_a_pause_runs_nothing_and_is_no_miss(edit: Way) -> None:
    schedule = planned(every=86_400, starts_at=halfway(86_400))
    edit(schedule, enabled=False)
    schedule.refresh_from_db()
    age(schedule, 3 * 86_400)
    assert tick() == 0

    edit(schedule, enabled=True)
    tick()

    schedule.refresh_from_db()
    assert (slots(schedule), skips(schedule)) == ([], [("paused", 3)])
    assert schedule.next_run_at > now()
    assert schedule.disabled_at is None


@pytest.mark.parametrize("edit", [*SEEING, by_operation])
def test_disabling_keeps_the_history(edit: Way) -> None:
    schedule = missed(1)
    tick()
    schedule.refresh_from_db()
    before = (schedule.last_run_at, schedule.last_scheduled_for, schedule.last_job_id)

    edit(schedule, enabled=False)

    schedule.refresh_from_db()
    assert (schedule.last_run_at, schedule.last_scheduled_for, schedule.last_job_id) == before
    assert schedule.disabled_at is not None


def test_every_way_of_disabling_leaves_the_same_row() -> None:
    def shape(schedule: CronJob) -> dict[str, Any]:
        schedule.refresh_from_db()
        row = {field.attname: getattr(schedule, field.attname) for field in CronJob._meta.concrete_fields}
        assert now() - row.pop("rescheduled_at") < timedelta(seconds=10)
        assert now() - row.pop("disabled_at") < timedelta(seconds=10)
        return {name: value for name, value in row.items() if name not in {"id", "name"}}

    ways = [*SEEING, by_operation]
    made = alike(len(ways))
    for edit, schedule in zip(ways, made, strict=True):
        edit(schedule, enabled=False)

    first, *others = [shape(schedule) for schedule in made]
    assert others == [first] * len(others)


def test_disabling_twice_keeps_the_first_time() -> None:
    schedule = planned()
    by_update(schedule, enabled=False)
    CronJob.objects.update(disabled_at=clock.in_seconds(-500))

    by_update(schedule, enabled=False)

    schedule.refresh_from_db()
    assert now() - schedule.disabled_at > timedelta(seconds=400)


def test_disabling_again_before_anybody_has_seen_it_enabled_keeps_the_first_time() -> None:
    schedule = planned()
    by_update(schedule, enabled=False)
    CronJob.objects.update(disabled_at=clock.in_seconds(-3 * HOUR))
    by_update(schedule, enabled=True)
    by_update(schedule, enabled=False)
    by_update(schedule, enabled=True)

    tick()

    ((reason, count),) = skips(schedule)
    assert (reason, count) == ("paused", 3)


def with_a_run_to_come() -> CronJob:
    """Return an hourly schedule whose last slot has come, and whose run of it the jitter delays by a minute or more."""
    # Some schedules are late by next to nothing: take one that is not.
    starts_at = now() - timedelta(hours=3, seconds=5)
    made = (make(every=HOUR, jitter=HOUR, starts_at=starts_at) for _ in range(50))
    schedule = next(each for each in made if offset(each.pk, HOUR) > timedelta(minutes=1))
    slot = starts_at + timedelta(hours=3)
    run_at = slot + offset(schedule.pk, HOUR)
    CronJob.objects.filter(pk=schedule.pk).update(next_run_at=run_at, last_scheduled_for=slot - timedelta(hours=1))
    schedule.refresh_from_db()
    return schedule


def test_a_jittered_run_that_is_still_to_come_at_an_edit_comes() -> None:
    schedule = with_a_run_to_come()
    run_at = schedule.next_run_at

    by_update(schedule, ends_at=now() + timedelta(days=9))
    tick()

    schedule.refresh_from_db()
    assert schedule.next_run_at == run_at


def test_a_jittered_run_that_is_still_to_come_at_a_resume_comes() -> None:
    schedule = with_a_run_to_come()
    run_at = schedule.next_run_at

    by_update(schedule, enabled=False)
    by_update(schedule, enabled=True)
    tick()

    schedule.refresh_from_db()
    assert (schedule.next_run_at, skips(schedule)) == (run_at, [])


def test_what_a_pause_skips_are_the_runs_within_it_and_not_the_slots() -> None:
    schedule = with_a_run_to_come()
    run_at, first = schedule.next_run_at, schedule.starts_at
    by_update(schedule, enabled=False)
    # Since before the run, and after the slot, of two hours ago.
    disabled_at = run_at - timedelta(hours=2, seconds=30)
    CronJob.objects.filter(pk=schedule.pk).update(last_scheduled_for=first, disabled_at=disabled_at)

    by_update(schedule, enabled=True)
    tick()

    schedule.refresh_from_db()
    assert (schedule.next_run_at, skips(schedule)) == (run_at, [("paused", 2)])


@pytest.mark.parametrize("copy", ["adding", "pk"])
def test_a_copy_begins_anew(copy: str) -> None:
    schedule = missed(3, catch_up="all")
    CronJob.objects.update(waiting_for=clock.in_seconds(-HOUR), error="old")
    schedule.refresh_from_db()

    schedule.pk, schedule.name = None, "copy"
    schedule._state.adding = copy == "adding"
    schedule.save()
    CronJob.objects.exclude(pk=schedule.pk).delete()
    tick()

    schedule.refresh_from_db()
    assert (Job.objects.count(), schedule.waiting_for, schedule.error) == (0, None, "")
    assert schedule.next_run_at > now()


def test_a_schedule_whose_handler_has_gone_can_still_be_edited() -> None:
    schedule = planned()
    CronJob.objects.filter(pk=schedule.pk).update(kind="gone")
    stored = CronJob.objects.get()

    stored.jitter = 5
    stored.save()

    assert CronJob.objects.get().jitter == 5
    stored.kind = "gone, too"
    with pytest.raises(InvalidSchedule, match="gone, too"):
        stored.save()


def test_an_interval_may_be_a_timedelta() -> None:
    schedule = make(every=timedelta(hours=2))
    CronJob.objects.update(every=timedelta(hours=3))

    assert schedule.every == 7_200
    schedule.refresh_from_db()
    assert schedule.every == 10_800


def test_a_zone_is_stored_by_its_name() -> None:
    schedule = make(timezone=ZoneInfo("Europe/Berlin"))
    CronJob.objects.update(timezone=ZoneInfo("Asia/Tokyo"))

    assert schedule.timezone == "Europe/Berlin"
    schedule.refresh_from_db()
    assert schedule.timezone == "Asia/Tokyo"


def test_update_stores_an_expression_in_its_normal_form() -> None:
    make(expression="@daily")

    CronJob.objects.update(expression=" 5  4 * * * ")

    assert CronJob.objects.get().expression == "5 4 * * *"


def test_saving_what_was_read_in_part_reads_no_more(django_assert_max_num_queries: Any) -> None:
    make()
    schedule = CronJob.objects.only("name").get()

    with django_assert_max_num_queries(8):
        schedule.save()


def test_a_form_that_was_open_for_long_does_not_turn_the_plan_back() -> None:
    stale = planned()
    CronJob.objects.get(pk=stale.pk)
    age(CronJob.objects.get(pk=stale.pk), HOUR)
    tick()
    fresh = CronJob.objects.get(pk=stale.pk)

    stale.payload = {"edited": True}
    stale.save()

    row = CronJob.objects.get(pk=stale.pk)
    assert (row.next_run_at, row.last_scheduled_for, row.last_job_id) == (
        fresh.next_run_at,
        fresh.last_scheduled_for,
        fresh.last_job_id,
    )
    assert row.payload == {"edited": True}
    assert stale.next_run_at == fresh.next_run_at


def test_saving_a_deleted_schedule_does_not_bring_it_back() -> None:
    schedule = planned()
    CronJob.objects.filter(pk=schedule.pk).delete()

    with pytest.raises(DatabaseError), transaction.atomic():
        schedule.save()

    assert CronJob.objects.count() == 0


def test_an_update_with_a_bad_value_changes_nothing() -> None:
    schedule = planned()

    with pytest.raises(InvalidSchedule, match="out of range"):
        CronJob.objects.update(jitter=-1)

    schedule.refresh_from_db()
    assert schedule.jitter == 0


def test_a_first_run_is_no_synthetic_past_one() -> None:
    schedule = planned(expression="0 15 * * *", timezone="UTC", starts_at=now() - timedelta(days=3))

    tick()

    assert slots(schedule) == []
    assert schedule.next_run_at > now()


def test_deleting_leaves_the_jobs() -> None:
    schedule = missed(1)
    tick()

    schedule.delete()

    assert Job.objects.count() == 1
    assert tick() == 0


def test_upcoming_slots_stop_at_the_end() -> None:
    schedule = make(every=60, starts_at=now(), ends_at=now() + timedelta(seconds=150))

    assert len(schedule.upcoming(5)) == 2
    assert make().upcoming(3) == sorted(make().upcoming(3))
