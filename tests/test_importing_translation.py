"""How rows of other apps are translated: pure, with stand-ins for the rows, so that no other app is needed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from jobs import cron, job
from jobs.cron.expressions import parse
from jobs.exceptions import InvalidSchedule
from jobs.importing import Found, celery_beat, django_q2
from jobs.importing.crontabs import expression
from tests.registering import own_registry

pytestmark = pytest.mark.once

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SOON, PAST = NOW + timedelta(days=1), NOW - timedelta(days=1)


def crontab(text: str, zone: str = "Europe/Berlin") -> Any:
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    return SimpleNamespace(**dict(zip(names, text.split(), strict=True)), timezone=ZoneInfo(zone))


def interval(every: int, period: str) -> Any:
    return SimpleNamespace(every=every, period=period)


def beat(**values: Any) -> Found:
    """Translate a periodic task of ``noop``, hourly unless told otherwise."""
    usual: dict[str, Any] = dict.fromkeys((*celery_beat.RULES, "queue", "exchange", "routing_key", "headers"))
    usual |= dict.fromkeys(("priority", "expires", "expire_seconds", "start_time", "last_run_at"))
    usual |= {"name": "it", "task": "noop", "args": "[]", "kwargs": "{}", "one_off": False, "enabled": True}
    usual |= {"description": "", "date_changed": PAST}
    rule = {} if set(celery_beat.RULES) & set(values) else {"interval": interval(1, "hours")}
    return celery_beat.translate(SimpleNamespace(**usual | rule | values), now=NOW)


def q2_row(**values: Any) -> Any:
    """Return a schedule of ``noop``, hourly unless told otherwise."""
    usual: dict[str, Any] = dict.fromkeys(("args", "kwargs", "hook", "cluster", "cron", "minutes"))
    usual |= {"pk": 7, "name": "it", "func": "noop", "schedule_type": "H", "repeats": -1, "next_run": SOON}
    usual |= {"intended_date_kwarg": None}
    return SimpleNamespace(**usual | values)


def q2(zone: str = "Europe/Berlin", **values: Any) -> Found:
    (found,) = django_q2.translate([q2_row(**values)], now=NOW, zone=zone)
    return found


def test_a_crontab_becomes_a_cron_expression_in_its_zone() -> None:
    found = beat(crontab=crontab("30 6 * * 1-5"), start_time=SOON)

    assert found.refusal == ""
    assert found.values["expression"] == "30 6 * * 1-5"
    assert (found.values["timezone"], found.values["starts_at"]) == ("Europe/Berlin", SOON)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("0 6 * * monday,Friday", "0 6 * * 1,5"),
        ("*/5 8-18/2 * january *", "*/5 8-18/2 * 1 *"),
        ("0 22-4 * * *", "0 22-4 * * *"),
        ("*/90 * * * *", "0 * * * *"),
        ("0 0 1-31 * mon", "0 0 * * mon"),
        ("0 0 15 * 0-6", "0 0 15 * *"),
        ("0 0 1-31 * 0-6", "0 0 * * *"),
        ("0 0 */2 * 1", "0 0 */2 * 1"),
        ("0 0 1-7 * 1", "0 0 * * 1#1"),
        ("0 0 1-7,15-21 * mon,fri", "0 0 * * 1#1,1#3,5#1,5#3"),
        ("0 0 29-31 * sat", "0 0 * * 6#5"),
    ],
)
def test_crontab_fields_are_written_as_they_are_meant(fields: str, said: str) -> None:
    assert expression(*fields.split()) == said
    cron.validate(said)


def test_blanks_within_a_field_are_left_out() -> None:
    assert expression("0, 30", "*", "*", "*", "*") == "0,30 * * * *"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("0 0 10-20 * 1", "both '10-20' of the month and '1' of the week"),
        ("0 0 * * 7", "Weekday '7' is not what Celery understands"),
        ("5/15 * * * *", "Minute '5/15' is not what Celery understands"),
        ("*/0 * * * *", r"Minute '\*/0' is not what"),
        ("1,,2 * * * *", "Minute '' is not what"),
        ("0 0 * xyz *", "Month 'xyz' is not what"),
        ("0 0 L * *", "Day of month 'l' is not what"),
    ],
)
def test_crontab_fields_that_cannot_be_written_say_why(fields: str, said: str) -> None:
    with pytest.raises(InvalidSchedule, match=said):
        expression(*fields.split())


@pytest.mark.parametrize(
    ("period", "seconds"),
    [("days", 172_800), ("hours", 7_200), ("minutes", 120), ("seconds", 2)],
)
def test_an_interval_becomes_seconds(period: str, seconds: int) -> None:
    assert beat(interval=interval(2, period)).values["every"] == seconds


def test_microseconds_are_taken_where_they_are_whole_seconds() -> None:
    assert beat(interval=interval(2_000_000, "microseconds")).values["every"] == 2
    assert "not a whole number of seconds" in beat(interval=interval(500, "microseconds")).refusal


@pytest.mark.parametrize(
    ("values", "begin"),
    [
        ({"last_run_at": NOW.replace(microsecond=5)}, NOW),
        ({"last_run_at": NOW, "start_time": SOON}, SOON),
        ({"last_run_at": NOW, "start_time": PAST}, NOW),
        ({}, PAST),
    ],
    ids=["last run", "to start", "started", "never run"],
)
def test_an_interval_goes_on_from_where_it_is(values: dict[str, Any], begin: datetime) -> None:
    assert beat(**values).values["starts_at"] == begin


def test_what_is_clocked_becomes_one_slot() -> None:
    found = beat(clocked=SimpleNamespace(clocked_time=SOON), one_off=True)

    assert found.schedule().upcoming(5, after=NOW) == [SOON]


def test_arguments_queue_and_expiry_are_carried_over() -> None:
    found = beat(args='["a", 1]', kwargs='{"b": [null]}', queue="mail", expire_seconds=90, expires=SOON)

    schedule = found.schedule()
    assert (schedule.args, schedule.payload, schedule.queue) == (["a", 1], {"b": [None]}, "mail")
    assert schedule.expires_after == 90
    # The moment at which it expires is too late over there.
    assert schedule.upcoming(99, after=NOW)[-1] == SOON - timedelta(hours=1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"args": "[1"}, "are no JSON"),
        ({"args": '{"a": 1}'}, "should be a JSON array"),
        ({"kwargs": "[]"}, "should be a JSON object"),
        ({"kwargs": '{"x": NaN}'}, "JSON has no number for"),
        ({"args": "[" * 100_000}, "recursion"),
        ({"kwargs": '{"at": {"__type__": "datetime", "__value__": "2026-01-01"}}'}, "hold a datetime"),
        ({"task": "echo", "kwargs": '{"wrong": 1}'}, "do not fit 'echo'"),
        ({"task": "celery.backend_cleanup"}, "RETENTION"),
        ({"queue": "a,b"}, "no queue name"),
        ({"expires": NOW}, "expired at"),
        ({"one_off": True}, "runs only once"),
        ({"interval": None}, "It has no rule"),
        ({"interval": interval(1, "days"), "crontab": crontab("* * * * *")}, "It has crontab and interval"),
        ({"interval": interval(1, "months")}, "period 'months' is not known"),
        ({"interval": interval(0, "days")}, "Interval 0 is out of range"),
        ({"interval": interval(10**12, "days")}, "is out of range"),
        ({"solar": SimpleNamespace(event="sunset")}, "follows the sun (sunset)"),
        ({"clocked": SimpleNamespace(clocked_time=PAST)}, "which has passed"),
        ({"clocked": SimpleNamespace(clocked_time=SOON), "expires": SOON}, "it would never run"),
        ({"crontab": crontab("0 0 31 2 *")}, "would never run"),
        ({"crontab": crontab(f"{','.join(map(str, range(60)))} {'23,' * 30}1 * * *")}, "give at most 255"),
    ],
)
def test_a_periodic_task_that_cannot_be_a_schedule_says_why(values: dict[str, Any], said: str) -> None:
    assert said in beat(**values).refusal


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"priority": 3}, "with Redis less is"),
        ({"exchange": "x"}, "exchange 'x'"),
        ({"routing_key": "x"}, "routing_key 'x'"),
        ({"headers": '{"a": 1}'}, 'headers {"a": 1}'),
        ({"description": "For the boss."}, "description"),
    ],
)
def test_what_a_periodic_task_loses_is_said(values: dict[str, Any], said: str) -> None:
    (lost,) = beat(**values).lost

    assert said in lost


def test_the_zone_that_celery_used_instead_is_said_to_be_lost(settings: Any) -> None:
    settings.DJANGO_CELERY_BEAT_TZ_AWARE = False

    assert "DJANGO_CELERY_BEAT_TZ_AWARE" in beat(crontab=crontab("0 6 * * *")).lost[0]
    assert beat().lost == ()


def test_an_alias_is_followed_to_its_kind() -> None:
    with own_registry():
        job("reports.nightly", aliases=["old.tasks.nightly"])(lambda: None)

        assert beat(task="old.tasks.nightly").values["kind"] == "reports.nightly"


def test_a_kind_without_handler_holds_the_schedule_back() -> None:
    found = beat(task="nobody.knows")

    assert "No handler is registered for kind 'nobody.knows'" in found.held_back[0]
    assert (found.refusal, found.schedule(enable=True).enabled) == ("", False)


def test_a_kind_whose_handler_is_elsewhere_does_not(settings: Any) -> None:
    settings.JOBS = {"ALLOW_UNKNOWN_KINDS": True}

    assert beat(task="nobody.knows").schedule(enable=True).enabled


@pytest.mark.parametrize(
    ("was_enabled", "enable", "enabled"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_enabled_is_what_was_enabled_and_is_to_be(*, was_enabled: bool, enable: bool, enabled: bool) -> None:
    assert beat(enabled=was_enabled).schedule(enable=enable).enabled is enabled


def test_rows_without_zones_are_in_that_of_the_site(settings: Any) -> None:
    settings.USE_TZ, settings.TIME_ZONE = False, "Asia/Kolkata"
    naive = datetime(2026, 12, 24, 6, 30)  # noqa: DTZ001 (as Django hands it out without USE_TZ)

    clocked = beat(clocked=SimpleNamespace(clocked_time=naive), expires=naive + timedelta(days=1))
    daily = q2("Asia/Kolkata", schedule_type="D", next_run=naive)

    assert clocked.schedule().upcoming(5, after=NOW) == [datetime(2026, 12, 24, 1, tzinfo=UTC)]
    assert (daily.values["expression"], daily.values["starts_at"]) == ("30 6 * * *", naive)


def test_a_row_that_is_not_as_expected_is_refused() -> None:
    assert "no attribute" in celery_beat.translate(SimpleNamespace(name="it"), now=NOW).refusal


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"schedule_type": "I", "minutes": 5}, {"every": 300}),
        ({"schedule_type": "I"}, {"every": 60}),
        ({"schedule_type": "H"}, {"every": 3_600}),
        ({"schedule_type": "D"}, {"expression": "0 13 * * *"}),
        ({"schedule_type": "W"}, {"expression": "0 13 * * 2"}),
        ({"schedule_type": "BW"}, {"every": 14 * 86_400}),
        ({"schedule_type": "M"}, {"expression": "0 13 1 * *"}),
        ({"schedule_type": "BM"}, {"expression": "0 13 1 2,4,6,8,10,12 *"}),
        ({"schedule_type": "Q"}, {"expression": "0 13 1 3,6,9,12 *"}),
        ({"schedule_type": "Y"}, {"expression": "0 13 1 12 *"}),
        ({"schedule_type": "C", "cron": "*/5  8-18 * * 1-5"}, {"expression": "*/5 8-18 * * 1-5"}),
        ({"schedule_type": "C", "cron": "@daily"}, {"expression": "@daily"}),
        ({"schedule_type": "C", "cron": "0 0 */10 * 1"}, {"expression": "0 0 1-31/10 * 1"}),
        ({"schedule_type": "C", "cron": "0 0 1 * */2"}, {"expression": "0 0 1 * 0-6/2"}),
        ({"schedule_type": "C", "cron": "0 0 * * */2"}, {"expression": "0 0 * * */2"}),
    ],
)
def test_each_type_of_schedule_has_its_rule(values: dict[str, Any], rule: dict[str, Any]) -> None:
    found = q2(**values)

    assert found.refusal == ""
    assert found.values | rule | {"starts_at": SOON, "timezone": "Europe/Berlin"} == found.values


def test_what_runs_once_becomes_one_slot() -> None:
    assert q2(schedule_type="O").schedule().upcoming(5, after=NOW) == [SOON]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [(None, []), ("", []), ("1, 'two'", [1, "two"]), ("'John'", ["John"]), ("(1,)", [1]), ("[1, 2]", [[1, 2]])],
)
def test_positional_arguments_are_literals(text: str | None, arguments: list[Any]) -> None:
    assert q2(args=text).values["args"] == arguments


@pytest.mark.parametrize("text", ["{'x': 1, 'y': [2]}", "x=1, y=[2]", " x=1, y=[2] "])
def test_keyword_arguments_come_in_two_forms(text: str) -> None:
    assert q2(kwargs=text).values["payload"] == {"x": 1, "y": [2]}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"args": "John"}, "are no Python literals"),
        ({"args": "print('x')"}, "are no Python literals"),
        ({"args": "{1, 2}"}, "JSON cannot hold"),
        ({"kwargs": "x=print()"}, "are no Python literals"),
        ({"kwargs": "1, x=1"}, "are no Python literals"),
        ({"kwargs": "x=1)(y=2"}, "are no Python literals"),
        ({"kwargs": "x=1) + f(y=2"}, "are no Python literals"),
        ({"kwargs": "**{'x': 1}"}, "are no Python literals"),
        ({"kwargs": "{1: 2}"}, "are no Python literals"),
        ({"kwargs": "[1]"}, "are no Python literals"),
        ({"args": "(" * 10_000}, "."),
        ({"func": "f" * 201}, "no name of a kind"),
        ({"func": "echo"}, "do not fit 'echo'"),
        ({"repeats": 0}, "has run as often"),
        ({"next_run": None}, "no next run"),
        ({"schedule_type": "X"}, "type 'X' is not known"),
        ({"schedule_type": "O", "next_run": PAST}, "which has passed"),
        ({"schedule_type": "C", "cron": "* * * * * *"}, "has 6 fields"),
        ({"schedule_type": "C", "cron": None}, "is text such as"),
        ({"zone": "Mars/Base"}, "Time zone 'Mars/Base' is not known"),
    ],
)
def test_a_schedule_that_cannot_be_one_here_says_why(values: dict[str, Any], said: str) -> None:
    assert said in q2(**values).refusal


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"hook": "shop.done"}, "The hook shop.done"),
        ({"cluster": "reports"}, "The cluster 'reports'"),
        ({"intended_date_kwarg": "due"}, "The argument 'due'"),
        ({"kwargs": "x=1, q_options={'timeout': 5}, group='g'"}, "group='g', q_options={'timeout': 5}"),
        ({"schedule_type": "BW"}, "once the clocks change"),
        ({"schedule_type": "M", "next_run": datetime(2027, 1, 30, tzinfo=UTC)}, "Months without a day 30"),
        ({"schedule_type": "D", "next_run": SOON.replace(second=9)}, "runs at 13:00 and not at 13:00:09"),
    ],
)
def test_what_a_schedule_loses_is_said(values: dict[str, Any], said: str) -> None:
    (lost,) = q2(**values).lost

    assert said in lost


def test_a_zone_without_summer_time_loses_nothing_by_an_interval() -> None:
    assert q2("UTC", schedule_type="BW").lost == ()


def test_a_count_of_runs_holds_the_schedule_back() -> None:
    found = q2(repeats=3)

    assert "run 3 more times" in found.held_back[0]
    assert not found.schedule(enable=True).enabled


def test_names_that_are_missing_or_not_unique_get_the_id() -> None:
    rows = [q2_row(pk=1, name=None), q2_row(pk=2, name="a"), q2_row(pk=3, name="a"), q2_row(pk=4, name="b")]

    found = django_q2.translate(rows, now=NOW, zone="UTC")

    assert [each.name for each in found] == ["noop #1", "a #2", "a #3", "b"]


DATES = st.sampled_from(["*", "1", "15", "1-7", "8-14", "1-31", "*/2", "*/10", "1,15", "29-31", "1-7,15-21"])
WEEKDAYS = st.sampled_from(["*", "0", "1", "mon", "1-5", "0-6", "*/2", "*/3", "sat,sun"])
NUMBERED = st.sampled_from(["MON#2", "L5", "1#1,1#3"])


@given(dates=DATES, weekdays=WEEKDAYS)
def test_both_days_match_as_in_celery(dates: str, weekdays: str) -> None:
    try:
        days = parse(expression("0", "0", dates, "*", weekdays)).days
    except InvalidSchedule:
        return
    alone, beside = parse(f"0 0 {dates} * *").days, parse(f"0 0 * * {weekdays}").days

    for number in range(366):
        day = date(2028, 1, 1) + timedelta(days=number)
        assert days.count(day, day) == alone.count(day, day) * beside.count(day, day)


@given(dates=DATES, weekdays=WEEKDAYS | NUMBERED)
def test_days_match_as_in_croniter_or_are_refused(dates: str, weekdays: str) -> None:
    text = f"0 0 {dates} * {weekdays}"
    theirs = croniter(text, NOW)

    found = q2("UTC", schedule_type="C", cron=text, next_run=PAST)

    if "no days that croniter reads" in found.refusal:
        assert not {"#", "L"}.isdisjoint(weekdays)
        return
    assert found.schedule().upcoming(40, after=NOW) == [theirs.get_next(datetime) for _ in range(40)]
