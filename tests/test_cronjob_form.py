"""Editing schedules in the admin: what is refused where, what stays, and that it does what every other edit does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client, override_settings

from jobs import clock, operations
from jobs import job as job_decorator
from jobs.cron import words
from jobs.models import CronJob, JobEvent
from jobs.stats.masking import MASK
from jobs.testing import age
from tests.cron_pages import by_action, by_button, by_form, errors, opened, page_url, post, superuser, typed
from tests.registering import own_registry
from tests.scheduling import HOUR, alike, halfway, make, missed, now, planned, skips, slots, tick
from tests.test_admin import LogIn, log_in, url
from tests.test_cronjob import by_operation, by_save, by_update

__all__ = ["log_in"]  # a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.once]

Way = Callable[..., None]


@pytest.fixture
def refund() -> Iterator[None]:
    """A kind that wants a permission of its own."""
    with own_registry():
        job_decorator("refund", permission="auth.add_user")(lambda: None)
        yield


def shape(schedule: CronJob) -> dict[str, Any]:
    """Return the row, with its moments only where they say something."""
    row = CronJob.objects.filter(pk=schedule.pk).values().get()
    assert now() - clock.aware(row.pop("rescheduled_at")) < timedelta(minutes=1)
    row["disabled_at"] = row["disabled_at"] is not None
    return {name: value for name, value in row.items() if name not in {"id", "name"}}


CHANGES: list[dict[str, Any]] = [
    {"every": 2 * HOUR},
    {"every": None, "expression": "0 6 * * 1-5", "timezone": "Europe/Berlin"},
    {"jitter": 60},
    {"enabled": False},
    {"enabled": False, "every": 60},
    {"payload": {"a": [1, 2.5, None, "é"]}, "args": [1]},
    {"catch_up": "all", "catch_up_limit": 5, "catch_up_window": 3600, "overlap": "queue_one"},
    {"queue": "mail", "priority": -5, "max_attempts": 3, "timeout": 0.5, "unique_key": " k ", "expires_after": 60.0},
    {"metadata": {"team": "crm"}},
    {"kind": "mark", "payload": {"seconds": 1}},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_the_form_leaves_the_same_row_as_any_other_edit(changes: dict[str, Any]) -> None:
    made = alike(3)
    # The same plan for all: what is compared is what an edit makes of it.
    CronJob.objects.filter(pk__in=[each.pk for each in made]).update(jitter=0)
    for edit, schedule in zip([by_save, by_update, by_form], made, strict=True):
        schedule.refresh_from_db()
        edit(schedule, **changes)

    by_the_others, *_, by_the_form = [shape(schedule) for schedule in made]
    assert by_the_form == by_the_others


@pytest.mark.parametrize("enabled", [True, False])
def test_every_way_to_enable_or_disable_leaves_the_same_row(*, enabled: bool) -> None:
    ways = [by_operation, by_form, by_action, by_button]
    made = alike(len(ways), enabled=not enabled)
    for edit, schedule in zip(ways, made, strict=True):
        edit(schedule, enabled=enabled)

    first, *others = [shape(schedule) for schedule in made]
    assert others == [first] * len(others)
    kind = "enabled" if enabled else "disabled"
    assert JobEvent.objects.filter(kind=kind).count() == len(ways)


@pytest.mark.parametrize("edit", [by_form, by_action, by_button])
def test_a_pause_in_the_admin_runs_nothing_and_is_no_miss(edit: Way) -> None:
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


def test_an_edit_of_a_due_schedule_runs_nothing() -> None:
    schedule = missed(1)

    by_form(schedule, every=2 * HOUR)
    tick()

    assert slots(schedule) == []


def test_a_form_that_was_open_during_a_tick_turns_nothing_back(admin_client: Client) -> None:
    schedule = planned()
    data = typed(opened(admin_client, schedule), payload={"edited": True})
    age(schedule, HOUR)
    tick()
    fresh = CronJob.objects.get(pk=schedule.pk)
    assert fresh.last_job_id is not None

    assert admin_client.post(page_url(schedule), data).status_code == 302

    row = CronJob.objects.get(pk=schedule.pk)
    kept = ("next_run_at", "rescheduled_at", "last_scheduled_for", "last_run_at", "last_job_id", "waiting_for", "error")
    assert {name: getattr(row, name) for name in kept} == {name: getattr(fresh, name) for name in kept}
    assert row.payload == {"edited": True}


def test_saving_without_a_change_changes_nothing(admin_client: Client) -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
    schedule = planned(every=7, starts_at=start, timeout=0.1, payload={"b": 1, "a": 1e23})
    before = CronJob.objects.filter(pk=schedule.pk).values().get()

    assert post(admin_client, schedule).status_code == 302

    assert CronJob.objects.filter(pk=schedule.pk).values().get() == before


def test_true_is_no_one(admin_client: Client) -> None:
    schedule = planned(payload={"a": 1})

    post(admin_client, schedule, payload={"a": True})

    schedule.refresh_from_db()
    assert schedule.payload["a"] is True


def test_what_somebody_else_changed_meanwhile_is_not_overwritten_unseen(admin_client: Client) -> None:
    schedule = planned()
    data = typed(opened(admin_client, schedule), queue="mine")
    CronJob.objects.filter(pk=schedule.pk).update(queue="theirs")

    refused = admin_client.post(page_url(schedule), data)

    assert "was changed since you opened this page" in errors(refused)["__all__"]
    schedule.refresh_from_db()
    assert schedule.queue == "theirs"
    again = typed(data, seen=refused.context["adminform"].form["seen"].value())
    assert admin_client.post(page_url(schedule), again).status_code == 302
    schedule.refresh_from_db()
    assert schedule.queue == "mine"


def test_a_schedule_is_added(admin_client: Client) -> None:
    response = post(admin_client, name="nightly", kind="noop", expression=" 30  2 * * * ", timezone="Europe/Berlin")

    schedule = CronJob.objects.get()
    assert response.status_code == 302
    assert (schedule.name, schedule.expression, schedule.timezone) == ("nightly", "30 2 * * *", "Europe/Berlin")
    assert (schedule.origin, schedule.args, schedule.payload, schedule.next_run_at) == ("person", [], {}, None)


def test_the_zone_of_the_site_is_offered_first(admin_client: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    form = admin_client.get(url("cronjob_add")).context["adminform"].form

    assert [choice for choice, label in form["timezone"].field.widget.choices][:3] == [
        "Europe/Berlin",
        "UTC",
        "Africa/Abidjan",
    ]
    assert form["timezone"].value() == "Europe/Berlin"


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"name": ""}, "name", "required"),
    ({"name": "taken"}, "name", "already exists"),
    ({"kind": ""}, "kind", "required"),
    ({"kind": "nobody.knows"}, "kind", "No handler is registered for kind 'nobody.knows'"),
    ({"expression": "61 * * * *", "every": ""}, "expression", "'61' is out of range"),
    ({"expression": "0 0 31 4 *", "every": ""}, "expression", "never run"),
    ({"expression": "* " * 200, "every": ""}, "expression", "at most 255 characters"),
    ({"expression": "* * * * *"}, "expression", "not both"),
    ({"every": ""}, "expression", "not neither"),
    ({"every": "0"}, "every", "out of range"),
    ({"every": "x"}, "every", "whole number"),
    ({"timezone": "Europe/Atlantis"}, "timezone", "not known"),
    ({"jitter": "86401"}, "jitter", "out of range"),
    (
        {"starts_at_0": "2030-01-02", "starts_at_1": "0:0", "ends_at_0": "2030-01-01", "ends_at_1": "0:0"},
        "ends_at",
        "never run",
    ),
    ({"starts_at_0": "yesterday"}, "starts_at", "valid date"),
    ({"catch_up": "all", "overlap": "skip"}, "overlap", "contradict"),
    ({"catch_up_limit": "0"}, "catch_up_limit", "out of range"),
    ({"queue": "a,b"}, "queue", "without commas"),
    ({"priority": "101"}, "priority", "out of range"),
    ({"timeout": "0"}, "timeout", "timeout"),
    ({"args": "[1"}, "args", "This is not JSON"),
    ({"args": '{"a": 1}'}, "args", "give a list"),
    ({"payload": '{"a": tru}'}, "payload", "line 1 column 7"),
    ({"payload": "[1]"}, "payload", "no dictionary"),
    ({"payload": '{"a": NaN}'}, "payload", "JSON has no number for"),
    ({"payload": '{"a": 1e999}'}, "payload", "JSON has no number for"),
    ({"payload": '{"a": ' + "9" * 5000 + "}"}, "payload", "This is not JSON"),
    ({"payload": "[" * 100_000}, "payload", "This is not JSON"),
    ({"payload": '{"a":' * 900 + "1" + "}" * 900}, "payload", "nested deeper than 100 levels"),
    ({"payload": '{"a": ' + "[" * 101 + "]" * 101 + "}"}, "payload", "nested deeper"),
    ({"payload": r'{"a": "\u0000"}'}, "payload", "NUL"),
    ({"payload": r'{"a": "\ud800"}'}, "payload", "surrogate"),
    ({"payload": '{"a": "' + "x" * 1_100_000 + '"}'}, "payload", "the limit is"),
    ({"kind": "echo", "payload": '{"wrong": 1}'}, "payload", "do not fit"),
    ({"metadata": "1"}, "metadata", "no dictionary"),
    ({"name": "a\x00b"}, "name", "Null characters"),
]


@pytest.mark.parametrize(("changes", "field", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_refused_is_said_at_its_field_once_and_nothing_is_saved(
    admin_client: Client, changes: dict[str, Any], field: str, message: str
) -> None:
    make(name="taken")

    response = admin_client.post(
        url("cronjob_add"), typed(opened(admin_client), name="n", kind="noop", every=60) | changes
    )

    assert message in errors(response)[field]
    assert list(errors(response)) == [field]
    assert len(response.context["adminform"].form.errors[field]) == 1
    assert CronJob.objects.count() == 1


def test_a_kind_that_nobody_here_knows_stays_where_it_is_stored(admin_client: Client) -> None:
    schedule = make(enabled=False)
    CronJob.objects.filter(pk=schedule.pk).update(kind="of.another.process")

    assert 'value="of.another.process" selected' in admin_client.get(page_url(schedule)).content.decode()
    assert post(admin_client, schedule, every=60).status_code == 302
    assert list(errors(post(admin_client, schedule, enabled=True))) == ["kind"]

    schedule.refresh_from_db()
    assert (schedule.kind, schedule.every, schedule.enabled) == ("of.another.process", 60, False)


def test_where_handlers_live_elsewhere_any_kind_can_be_typed(admin_client: Client, settings: Any) -> None:
    settings.JOBS = {"ALLOW_UNKNOWN_KINDS": True}

    assert '<option value="noop"></option>' in admin_client.get(url("cronjob_add")).content.decode()
    assert post(admin_client, name="n", kind="elsewhere", every=60).status_code == 302


def test_kinds_that_the_user_may_not_start_are_not_offered_and_refused(log_in: LogIn, refund: None) -> None:
    client = log_in("add_cronjob")

    assert 'value="refund"' not in client.get(url("cronjob_add")).content.decode()
    assert "auth.add_user" in errors(post(client, name="n", kind="refund", every=60))["kind"]
    User.objects.get(username="alice").user_permissions.add(Permission.objects.get(codename="add_user"))
    assert 'value="refund"' in client.get(url("cronjob_add")).content.decode()
    assert post(client, name="n", kind="refund", every=60).status_code == 302


def test_a_schedule_of_such_a_kind_is_only_shown(log_in: LogIn, refund: None) -> None:
    schedule, client = make(kind="refund"), log_in("change_cronjob")

    assert 'name="_save"' not in client.get(page_url(schedule)).content.decode()
    assert client.post(page_url(schedule), {"every": "1"}).status_code == 403


def test_what_is_masked_is_not_in_the_form_and_survives_it(admin_client: Client) -> None:
    schedule = make(payload={"api_key": "s3cret", "n": 1, "deep": {"token": "t0ken", "x": 1}})

    html = admin_client.get(page_url(schedule)).content.decode()
    assert "s3cret" not in html
    assert "t0ken" not in html
    assert MASK in html
    post(admin_client, schedule, payload={"n": 2, "api_key": MASK, "deep": {"x": 2, "token": MASK}, "new": 3})

    schedule.refresh_from_db()
    assert schedule.payload == {"n": 2, "api_key": "s3cret", "deep": {"x": 2, "token": "t0ken"}, "new": 3}


def test_a_masked_value_is_replaced_by_what_is_typed(admin_client: Client) -> None:
    schedule = make(payload={"api_key": "old"})

    post(admin_client, schedule, payload={"api_key": "new"})

    schedule.refresh_from_db()
    assert schedule.payload == {"api_key": "new"}


@pytest.mark.parametrize(
    "payload",
    [
        {"users": [{"name": "b", "password": MASK}]},
        {"users": [{"name": "a", "password": MASK}, {"name": "b", "password": MASK}], "token": MASK},
        {"users": MASK},
    ],
    ids=["a shorter list", "a new key", "in the place of what is shown"],
)
def test_a_mask_that_stands_for_nothing_is_refused(admin_client: Client, payload: dict[str, Any]) -> None:
    schedule = make(payload={"users": [{"name": "a", "password": "1"}, {"name": "b", "password": "2"}]})

    assert "stands for nothing" in errors(post(admin_client, schedule, payload=payload))["payload"]


def test_a_list_with_masked_values_stays_when_it_is_left_alone(admin_client: Client) -> None:
    users = [{"name": "a", "password": "1"}]
    schedule = make(payload={"users": users, "n": 1})

    post(admin_client, schedule, payload={"users": [{"name": "a", "password": MASK}], "n": 2})

    schedule.refresh_from_db()
    assert schedule.payload == {"users": users, "n": 2}


def test_whoever_may_only_look_sees_masks_too(log_in: LogIn) -> None:
    schedule = make(payload={"api_key": "s3cret"}, metadata={"token": "t0ken"})

    html = log_in().get(page_url(schedule)).content.decode()

    assert MASK in html
    assert "s3cret" not in html
    assert "t0ken" not in html


def test_the_name_that_code_knows_a_schedule_by_cannot_be_edited(admin_client: Client) -> None:
    schedule = make(name="declared", origin="code")

    admin_client.post(page_url(schedule), typed(opened(admin_client, schedule), name="renamed", queue="mail"))

    schedule.refresh_from_db()
    assert (schedule.name, schedule.queue) == ("declared", "mail")


def test_editing_alone_does_not_enable_or_disable(log_in: LogIn) -> None:
    schedule, client = planned(), log_in("change_cronjob")

    data = typed(opened(client, schedule), queue="mail")
    assert "enabled" not in data
    client.post(page_url(schedule), data)

    schedule.refresh_from_db()
    assert (schedule.enabled, schedule.queue) == (True, "mail")


def test_a_new_schedule_may_begin_disabled_whoever_adds_it(log_in: LogIn) -> None:
    post(log_in("add_cronjob"), name="n", kind="noop", every=60, enabled=False)

    assert not CronJob.objects.get().enabled


def test_an_edit_is_in_the_log_and_a_toggle_has_an_event_too(admin_client: Client) -> None:
    schedule = planned()

    post(admin_client, schedule, queue="mail", enabled=False)

    assert set(LogEntry.objects.get().get_change_message().removeprefix("Changed ").rstrip(".").split(" and ")) == {
        "Queue",
        "Enabled",
    }
    event = JobEvent.objects.get()
    assert (event.kind, event.cron_id, event.actor_label) == ("disabled", schedule.pk, "admin")


def test_a_schedule_is_deleted_and_its_jobs_stay(admin_client: Client) -> None:
    schedule = missed(1)
    tick()

    admin_client.post(url("cronjob_delete", schedule.pk), {"post": "yes"})

    assert not CronJob.objects.exists()
    assert len(slots(schedule)) == 1


def test_whoever_deletes_what_code_declares_is_told_that_it_comes_back(admin_client: Client) -> None:
    ours, theirs = make(origin="code"), make()

    assert "comes back" in admin_client.get(url("cronjob_delete", ours.pk)).content.decode()
    assert "comes back" not in admin_client.get(url("cronjob_delete", theirs.pk)).content.decode()


def previewed(client: Client, **query: Any) -> str:
    response = client.get(url("cronjob_preview"), query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


BERLIN = {"expression": "30 2 * * *", "timezone": "Europe/Berlin", "enabled": "on", "jitter": "0"}
# When no change of the clocks takes or gives a run, whatever the date.
NOON = {"expression": "30 12 * * *", "timezone": "Europe/Berlin"}


def test_the_preview_shows_the_next_runs_in_the_zone_and_in_utc(admin_client: Client) -> None:
    html = previewed(admin_client, **BERLIN, starts_at_0="2035-07-01", starts_at_1="00:00")

    assert "On the clock of Europe/Berlin" in html
    for day in range(1, 6):
        assert f"2035-07-0{day} 02:30:00 CEST" in html
        assert f"2035-07-0{day} 00:30:00 UTC" in html
    assert html.count("<tr>") == 6


def test_the_preview_says_where_a_change_of_the_clocks_comes_in(admin_client: Client) -> None:
    html = previewed(admin_client, **BERLIN, starts_at_0="2035-03-24", starts_at_1="00:00")

    assert "02:30 is skipped that day: runs at 03:00." in html


def test_the_preview_ends_where_the_schedule_does(admin_client: Client) -> None:
    start, end = {"starts_at_0": "2035-07-01", "starts_at_1": "0:0"}, {"ends_at_0": "2035-07-02", "ends_at_1": "0:30"}

    html = previewed(admin_client, **BERLIN, **start, **end)

    assert html.count("<tr>") == 3
    assert "After that it runs no more." in html
    past = {"ends_at_0": "2020-07-02", "ends_at_1": "0:30"}
    assert "There is none." in previewed(admin_client, **BERLIN, **past)


def test_the_preview_of_an_interval_says_what_it_is_counted_from(admin_client: Client) -> None:
    rule = {"every": "900", "timezone": "UTC", "jitter": "0", "enabled": "on"}

    html = previewed(admin_client, **rule)
    counted = previewed(admin_client, **rule, starts_at_0="2035-07-01", starts_at_1="00:07")

    assert "Every 15 min" in html
    assert "beginning of 1970" in html
    assert "In UTC" not in html
    assert "Counted from its start, 2035-07-01 00:07:00 UTC." in counted
    assert "2035-07-01 00:22:00 UTC" in counted


def test_the_preview_of_a_single_run_says_when_it_is(admin_client: Client) -> None:
    at = {
        f"{name}_{place}": text for name in ("starts_at", "ends_at") for place, text in ((0, "2035-07-01"), (1, "6:0"))
    }

    html = previewed(admin_client, every="60", timezone="UTC", jitter="0", enabled="on", **at)

    assert "Once, at 2035-07-01 06:00:00" in html
    assert html.count("<tr>") == 2
    assert "Counted from" not in html


def test_jitter_is_in_the_runs_of_a_schedule_that_has_one(admin_client: Client) -> None:
    schedule = planned(jitter=3600)
    late = int((schedule.next_run_at - schedule.upcoming(1)[0]).total_seconds()) % HOUR
    typed_in = {"every": str(HOUR), "timezone": "UTC", "enabled": "on", "jitter": "3600"}

    known, unknown = previewed(admin_client, **typed_in, schedule=schedule.pk), previewed(admin_client, **typed_in)

    assert f":{late // 60:02}:{late % 60:02} UTC" in known
    assert "which is in these times" in known
    assert ":00:00 UTC" in unknown
    assert "at most 1 h" in unknown


def test_the_preview_of_a_disabled_schedule_says_so(admin_client: Client) -> None:
    assert "none of these runs until it is enabled" in previewed(admin_client, **(BERLIN | {"enabled": ""}))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({}, "give one of the two"),
        ({"expression": "61 * * * *"}, "is out of range"),
        ({"expression": "* " * 5000}, "at most 255 characters"),
        ({"expression": "<script>"}, "&lt;script&gt;"),
        ({"every": "0"}, "out of range"),
        ({"every": "60", "jitter": "86401"}, "out of range"),
        ({"expression": "* * * * *", "timezone": "Europe/Atlantis"}, "Europe/Atlantis"),
        ({"expression": "* * * * *", "starts_at_0": "x"}, "Starts at"),
        ({"expression": "* * * * *", "schedule": "x"}, "Every minute"),
    ],
    ids=str,
)
def test_the_preview_says_what_is_wrong(admin_client: Client, query: dict[str, str], message: str) -> None:
    if message == "Every minute" and words.cron_descriptor is None:
        pytest.skip("cron-descriptor is optional")

    html = previewed(admin_client, **({"timezone": "UTC", "jitter": "0", "enabled": "on"} | query))

    assert message in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("codenames", "status"),
    [(("view",), 200), (("add",), 200), (("change",), 200), (("delete",), 403), ((), 403)],
    ids=str,
)
def test_the_preview_is_for_those_who_see_the_page(client: Client, codenames: tuple[str, ...], status: int) -> None:
    user = User.objects.create_user("carol", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=[f"{name}_cronjob" for name in codenames]))
    client.force_login(user)

    assert client.get(url("cronjob_preview"), BERLIN).status_code == status
    assert client.post(url("cronjob_preview"), BERLIN).status_code == 405
    assert Client().get(url("cronjob_preview"), BERLIN).status_code == 302


def test_the_page_of_a_schedule_shows_its_preview_at_once(admin_client: Client) -> None:
    schedule = planned(**NOON)

    html = admin_client.get(page_url(schedule)).content.decode()

    assert html.count("12:30:00 CE") == 5


def test_the_page_of_a_schedule_that_makes_no_sense_says_so(admin_client: Client) -> None:
    schedule = make()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_cronjob SET timezone = 'Europe/Atlantis', expression = '1 1 1 1 1', every = NULL")

    assert "is not known" in admin_client.get(page_url(schedule)).content.decode()


def test_preview_shows_what_is_typed_and_saves_nothing(admin_client: Client) -> None:
    schedule = planned(every=None, expression="0 9 * * *", timezone="Europe/Berlin")
    before = CronJob.objects.filter(pk=schedule.pk).values().get()
    data = typed(opened(admin_client, schedule), name="other", expression=NOON["expression"], enabled=False)

    response = admin_client.post(page_url(schedule), data | {"_preview": "Preview"})

    html = response.content.decode()
    assert html.count("12:30:00 CE") == 5
    assert "none of these runs until it is enabled" in html
    assert 'value="other"' in html
    assert "errornote" not in html
    # What is stored is shown as it is stored.
    assert "</span> On time" in html
    assert CronJob.objects.filter(pk=schedule.pk).values().get() == before
    assert not LogEntry.objects.exists()


def test_preview_of_a_new_schedule_saves_nothing(admin_client: Client) -> None:
    data = typed(opened(admin_client), **NOON, name="n")

    response = admin_client.post(url("cronjob_add"), data | {"_preview": "Preview"})

    assert list(errors(response)) == ["kind"]
    assert response.content.decode().count("12:30:00 CE") == 5
    assert not CronJob.objects.exists()


def test_the_script_is_a_file_and_nothing_on_the_page_needs_another(admin_client: Client) -> None:
    html = admin_client.get(page_url(planned(kind="noop"))).content.decode()

    assert 'src="/static/jobs/schedule.js"' in html
    assert "<script>" not in html
    for inline in (" style=", " onclick=", " onchange=", "<style"):
        assert inline not in html.partition('id="content-start"')[2]


def test_enabling_through_the_form_asks_the_operation(admin_client: Client) -> None:
    schedule = planned()
    operations.disable(CronJob.objects.filter(pk=schedule.pk))

    post(admin_client, schedule, enabled=True, every=60)

    schedule.refresh_from_db()
    assert (schedule.enabled, schedule.every) == (True, 60)
    assert list(JobEvent.objects.order_by("pk").values_list("kind", flat=True)) == ["disabled", "enabled"]


def test_superuser_helper_is_one_person() -> None:
    superuser(), superuser()

    assert User.objects.count() == 1


def test_what_tells_a_change_of_what_is_masked_tells_nobody_what_it_is() -> None:
    schedule = make(payload={"password": "1234"})

    with override_settings(SECRET_KEY="another"):
        elsewhere = opened(superuser(), schedule)["seen"]

    assert opened(superuser(), schedule)["seen"] != elsewhere
