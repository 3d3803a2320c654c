"""Schedules that code declares: brought into the database, past what operators have changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError, connection, transaction

from jobs import declarations, schedule, schedules, sql
from jobs.declarations import Declaration
from jobs.exceptions import InvalidSchedule
from jobs.models import CronJob, JobEvent, Worker
from jobs.schedules import Synced
from tests.jobs import echo, noop
from tests.leasing import in_threads
from tests.scheduling import make, tick
from tests.working import running, wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_declarations() -> Iterator[None]:
    before = dict(declarations._declared)
    declarations._declared.clear()
    yield
    declarations._declared.clear()
    declarations._declared.update(before)


def sync(**options: Any) -> Synced:
    return schedules.sync(using="default", **options)


def test_a_declaration_becomes_a_row() -> None:
    schedule(echo, cron="0 6 * * 1-5", timezone="Europe/Berlin", payload={"value": 1}, queue="q", overlap="skip")

    assert sync().created == ["echo"]

    row = CronJob.objects.get()
    assert (row.name, row.kind, row.expression, row.timezone) == ("echo", "echo", "0 6 * * 1-5", "Europe/Berlin")
    assert (row.payload, row.queue, row.overlap, row.origin) == ({"value": 1}, "q", "skip", CronJob.Origin.CODE)


def test_what_a_handler_is_used_with_holds_unless_the_schedule_says_otherwise() -> None:
    schedule(noop.using(queue="q", priority=5), every=60, priority=7)

    sync()

    row = CronJob.objects.get()
    assert (row.queue, row.priority) == ("q", 7)


def test_durations_may_be_timedeltas() -> None:
    schedule(
        noop,
        every=timedelta(hours=2),
        jitter=timedelta(minutes=1),
        timeout=timedelta(minutes=5),
        starts_at=datetime(2026, 1, 1, tzinfo=UTC),
    )

    sync()

    row = CronJob.objects.get()
    assert (row.every, row.jitter, row.timeout) == (7_200, 60, 300.0)


def test_a_second_sync_finds_nothing_to_do() -> None:
    schedule(noop, every=60, starts_at=datetime(2026, 1, 1, tzinfo=UTC), timeout=timedelta(seconds=5))
    sync()

    assert sync() == Synced()


def test_a_changed_declaration_changes_the_row() -> None:
    schedule(noop, every=60, name="n")
    sync()
    tick()

    declare_anew(every=120)

    assert sync().updated == {"n": ["every"]}
    row = CronJob.objects.get()
    assert (row.every, row.next_run_at) == (120, None)


def test_what_an_operator_changed_stays_and_is_said() -> None:
    schedule(noop, every=60, name="n", queue="a")
    sync()
    CronJob.objects.update(every=90, enabled=False)

    declare_anew(every=120, queue="b")

    synced = sync()
    assert (synced.updated, synced.kept) == ({"n": ["queue"]}, {"n": ["every", "enabled"]})
    row = CronJob.objects.get()
    assert (row.every, row.enabled, row.queue) == (90, False, "b")


@pytest.mark.parametrize(
    "options",
    [{"cron": " @Daily"}, {"cron": "0  3 * * *"}, {"cron": "@daily", "timezone": ZoneInfo("Europe/Berlin")}],
    ids=str,
)
def test_what_is_stored_in_another_form_than_declared_is_no_edit_of_a_person(options: dict[str, Any]) -> None:
    schedule(noop, name="n", **options)
    sync()

    assert sync() == Synced()
    declare_anew(every=60, timezone="Asia/Tokyo")
    sync()

    row = CronJob.objects.get()
    assert (row.expression, row.every, row.timezone) == ("", 60, "Asia/Tokyo")


def test_the_rule_that_an_operator_gave_stays_as_a_whole() -> None:
    schedule(noop, every=60, name="n")
    schedule(noop, every=60, name="other")
    sync()
    CronJob.objects.filter(name="n").update(every=90)

    declare_anew(cron="@daily", priority=1)

    assert sync().kept == {"n": ["expression", "every"]}
    row = CronJob.objects.get(name="n")
    assert (row.expression, row.every, row.priority) == ("", 90, 1)
    assert sync() == Synced(kept={"n": ["expression", "every"]})


def test_a_change_that_contradicts_what_a_person_changed_is_refused() -> None:
    schedule(noop, every=60, name="n")
    sync()
    CronJob.objects.update(overlap="skip")

    declare_anew(every=60, catch_up="all")

    synced = sync()
    assert "contradict each other" in synced.refused["n"]
    assert synced.refused["n"].endswith("A person has changed overlap.")
    assert CronJob.objects.get().catch_up == "latest"


def test_what_an_operator_changed_back_follows_the_code_again() -> None:
    schedule(noop, every=60, name="n")
    sync()
    CronJob.objects.update(every=90)
    sync()
    CronJob.objects.update(every=60)

    declare_anew(every=120)

    assert sync().updated == {"n": ["every"]}


def test_a_schedule_removed_from_code_is_disabled_and_comes_back() -> None:
    schedule(noop, every=60, name="n")
    sync()
    declarations._declared.clear()

    assert sync().disabled == ["n"]
    row = CronJob.objects.get()
    assert not row.enabled
    assert JobEvent.objects.get().reason == "It is no longer declared in code."
    assert sync() == Synced()

    schedule(noop, every=60, name="n")
    assert sync().updated == {"n": ["enabled"]}
    assert CronJob.objects.get().enabled


def test_a_removed_one_that_a_person_enables_stays_enabled() -> None:
    schedule(noop, every=60, name="n")
    sync()
    declarations._declared.clear()
    sync()

    CronJob.objects.update(enabled=True)

    assert sync() == Synced()
    assert CronJob.objects.get().enabled


@pytest.mark.skipif("sqlite" in connection.vendor, reason="SQLite has no row locks")
@pytest.mark.django_db(transaction=True)
def test_a_worker_starts_though_somebody_holds_a_declared_row(caplog: pytest.LogCaptureFixture) -> None:
    schedule(noop, every=3600, name="n")
    sync()
    with transaction.atomic():
        CronJob.objects.select_for_update().get()
        with running(sync=True):
            wait_until(lambda: Worker.objects.filter(stopped_at=None).exists())
            wait_until(lambda: "schedules not synced" in caplog.text)


def test_people_s_schedules_are_left_alone() -> None:
    make(name="by hand")
    schedule(noop, every=60, name="by hand")

    synced = sync()

    assert "was made by a person" in synced.refused["by hand"]
    assert CronJob.objects.get().origin == CronJob.Origin.PERSON


def test_a_dry_run_writes_nothing() -> None:
    schedule(noop, every=60)

    assert sync(dry_run=True).created == ["noop"]
    assert CronJob.objects.count() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cron": "61 * * * *"}, "61"),
        ({"every": 60, "payload": {"a": {1}}}, "is a set"),
        ({"every": 60, "payload": ["a"]}, "no dictionary"),
        ({"every": 60, "args": "ab"}, "give a list"),
        ({"every": 60, "args": [b"a"]}, "is a bytes"),
        ({"every": 60, "enabled": "no"}, "neither True nor False"),
        ({"every": 60, "timezone": timezone(timedelta(hours=2))}, "'UTC\\+02:00' is not known"),
        ({"every": 60, "starts_at": date(2026, 1, 1)}, "no datetime|not a datetime"),
    ],
    ids=str,
)
def test_a_declaration_that_cannot_be_is_refused_and_stops_no_other(options: dict[str, Any], message: str) -> None:
    schedule(noop, name="bad", **options)
    schedule(noop, every=60, name="good")

    synced = sync()

    assert synced.created == ["good"]
    assert re.search(message, synced.refused["bad"])


def test_a_row_that_the_database_refuses_is_said_to_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule(noop, every=60, name="n")

    def refuse(*_: object, **__: object) -> None:
        raise IntegrityError("a rule of the site's own")

    monkeypatch.setattr(CronJob, "save", refuse)

    assert sync().refused == {"n": "a rule of the site's own"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 60, "kind": noop.using(delay=5)}, "no option 'delay'"),
        ({"every": 60, "priorty": 1}, "no option 'priorty': the options are args, catch_up,"),
        ({"every": 60, "expression": "@daily"}, "no option 'expression'"),
        ({"every": 0.5}, "not a whole number"),
        ({"every": "often"}, "not a duration"),
        ({"every": 60, "jitter": -1}, "out of range"),
    ],
    ids=str,
)
def test_bad_options_are_refused_where_they_are_written(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schedule(**({"kind": noop} | options))


@pytest.mark.parametrize("kind", [lambda: None, None, "", "a\x00"], ids=["a function", "None", "empty", "NUL"])
def test_what_names_no_kind_is_refused_where_it_is_written(kind: Any) -> None:
    with pytest.raises(InvalidSchedule, match="is no name of a kind"):
        schedule(kind, every=60, name="n")

    assert declarations.declared() == []


@pytest.mark.parametrize("name", [5, "", "a\x00", "a" * 201], ids=repr)
def test_what_is_no_name_is_refused_where_it_is_written(name: Any) -> None:
    with pytest.raises(InvalidSchedule, match="is no name: use"):
        schedule(noop, every=60, name=name)

    assert declarations.declared() == []


def test_two_declarations_of_one_name_are_refused() -> None:
    schedule(noop, every=60)
    schedule(noop, every=60)

    with pytest.raises(InvalidSchedule, match="declared twice"):
        schedule(noop, every=61)


@pytest.mark.skipif("sqlite" in connection.vendor, reason="SQLite has no row locks")
@pytest.mark.django_db(transaction=True)
def test_several_may_sync_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # None gives up because the machine is too busy for another to commit.
    monkeypatch.setattr(sql, "SYNC_PATIENCE_POSTGRESQL", "SET LOCAL lock_timeout = '30s'")
    for number in range(5):
        schedule(noop, every=60, name=f"n{number}")

    results = in_threads(*[sync] * 4)

    assert all(isinstance(one, Synced) for one in results), results
    assert sorted(name for one in results for name in one.created) == [f"n{number}" for number in range(5)]
    assert CronJob.objects.count() == 5


@pytest.mark.django_db(transaction=True)
def test_a_worker_syncs_when_it_starts() -> None:
    schedule(noop, every=1, name="n")

    with running(sync=True):
        wait_until(lambda: CronJob.objects.filter(last_job_id__isnull=False).exists())

    assert CronJob.objects.get().name == "n"


def declare_anew(**options: Any) -> Declaration:
    del declarations._declared["n"]
    return schedule(noop, name="n", **options)
