"""The slots of cron rules and intervals: where clocks change, counted, from the newest back, and far away."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobs import cron
from jobs.cron import CronRule, IntervalRule, Timetable
from jobs.cron.expressions import parse
from jobs.cron.zones import stretches_of
from jobs.exceptions import InvalidCron, InvalidInterval, InvalidSchedule
from tests.minutes import CHANGES, Crontab, crontabs, span

pytestmark = pytest.mark.once

TICK = timedelta(microseconds=1)
HALF_AN_HOUR, DAY = timedelta(minutes=30), timedelta(days=1)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

moments = st.datetimes(
    *(datetime(year, 1, 1, tzinfo=UTC).replace(tzinfo=None) for year in (2000, 2060)), timezones=st.just(UTC)
)
zones = st.sampled_from(sorted({zone for zone, _ in CHANGES} | {"UTC", "Asia/Shanghai"}))
intervals = st.builds(
    IntervalRule.of,
    st.one_of(st.integers(1, 100), st.integers(1, cron.MAX_INTERVAL_SECONDS)),
    starts_at=st.one_of(st.none(), moments),
)


def rule_of(crontab: Crontab, zone: str, **options: Any) -> CronRule:
    """Return the rule, unless it is one for a day that never comes."""
    try:
        return CronRule.of(crontab.text, zone, **options)
    except InvalidCron as error:  # pragma: no cover (chance decides whether there is one)
        assume("would never run" not in str(error))
        raise


rules = st.one_of(intervals, st.builds(rule_of, crontabs, zones, starts_at=st.one_of(st.none(), moments)))


def local_slots(expression: str, zone: str, after: str, count: int) -> list[str]:
    slots = cron.upcoming(expression, zone, datetime.fromisoformat(after), count)
    return [slot.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes") for slot in slots]


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00+01:00", "2026-03-29T03:00+02:00 2026-03-30T02:30+02:00"),
        ("Europe/Berlin", "*/20 2 * * *", "2026-03-28T12:00+01:00", "2026-03-30T02:00+02:00 2026-03-30T02:20+02:00"),
        ("Europe/Berlin", "0,30 2 * * *", "2026-10-25T00:00+02:00", "2026-10-25T02:00+02:00 2026-10-25T02:30+02:00 2026-10-26T02:00+01:00"),
        ("Europe/Berlin", "0,30 2 * * *", "2026-10-25T02:10+01:00", "2026-10-26T02:00+01:00"),
        ("Europe/Berlin", "*/30 2 * * *", "2026-10-25T02:00+02:00", "2026-10-25T02:30+02:00 2026-10-25T02:00+01:00 2026-10-25T02:30+01:00 2026-10-26T02:00+01:00"),
        ("America/New_York", "30 1-3 * * *", "2026-03-08T00:00-05:00", "2026-03-08T01:30-05:00 2026-03-08T03:00-04:00 2026-03-08T03:30-04:00"),
        ("America/New_York", "0 * * * *", "2026-11-01T00:30-04:00", "2026-11-01T01:00-04:00 2026-11-01T01:00-05:00 2026-11-01T02:00-05:00"),
        ("America/New_York", "0 0-23 * * *", "2026-11-01T00:30-04:00", "2026-11-01T01:00-04:00 2026-11-01T02:00-05:00"),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00+10:30", "2026-10-04T02:30+11:00 2026-10-05T02:15+11:00"),
        ("Australia/Lord_Howe", "*/15 * * * *", "2026-10-04T01:40+10:30", "2026-10-04T01:45+10:30 2026-10-04T02:30+11:00 2026-10-04T02:45+11:00"),
        ("Australia/Lord_Howe", "*/30 1 * * *", "2026-04-05T01:15+11:00", "2026-04-05T01:30+11:00 2026-04-05T01:30+10:30 2026-04-06T01:00+10:30"),
        ("America/Santiago", "30 0 * * *", "2026-09-05T12:00-04:00", "2026-09-06T01:00-03:00 2026-09-07T00:30-03:00"),
        ("America/Santiago", "30 23 * * *", "2026-04-04T12:00-03:00", "2026-04-04T23:30-03:00 2026-04-05T23:30-04:00"),
        ("America/Santiago", "*/30 23 * * *", "2026-04-04T12:00-03:00", "2026-04-04T23:00-03:00 2026-04-04T23:30-03:00 2026-04-04T23:00-04:00 2026-04-04T23:30-04:00"),
        ("America/Santiago", "@daily", "2026-04-04T12:00-03:00", "2026-04-05T00:00-04:00 2026-04-06T00:00-04:00"),
        ("Africa/Cairo", "@daily", "2026-04-23T12:00+02:00", "2026-04-24T01:00+03:00 2026-04-25T00:00+03:00"),
        ("Africa/Cairo", "0 23 * * THU", "2026-10-29T12:00+03:00", "2026-10-29T23:00+03:00 2026-11-05T23:00+02:00"),
        ("Asia/Beirut", "15 0 29 3 *", "2026-03-01T00:00+02:00", "2026-03-29T01:00+03:00 2027-03-29T00:15+03:00"),
        ("Asia/Beirut", "15 */12 29 3 *", "2026-03-01T00:00+02:00", "2026-03-29T12:15+03:00"),
        ("Pacific/Apia", "0 12 * * *", "2011-12-29T13:00-10:00", "2011-12-31T00:00+14:00 2011-12-31T12:00+14:00"),
        ("Pacific/Apia", "0 12 30 12 *", "2011-12-29T13:00-10:00", "2011-12-31T00:00+14:00 2012-12-30T12:00+14:00"),
        ("Pacific/Apia", "0 */12 * * *", "2011-12-29T00:30-10:00", "2011-12-29T12:00-10:00 2011-12-31T00:00+14:00 2011-12-31T12:00+14:00"),
        ("Antarctica/Troll", "30 1,2 * * *", "2026-03-29T00:00+00:00", "2026-03-29T03:00+02:00 2026-03-30T01:30+02:00"),
        ("Antarctica/Troll", "30 1,2 * * *", "2026-10-25T00:00+02:00", "2026-10-25T01:30+02:00 2026-10-25T02:30+02:00 2026-10-26T01:30+00:00"),
        ("Africa/Casablanca", "30 2 * * *", "2026-02-14T12:00+01:00", "2026-02-15T02:30+01:00 2026-02-16T02:30+00:00"),
        ("Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00+00:00", "2026-03-22T03:00+01:00 2026-03-23T02:30+01:00"),
        ("Europe/Dublin", "30 1 * * *", "2026-03-28T12:00+00:00", "2026-03-29T02:00+01:00 2026-03-30T01:30+01:00"),
        ("Europe/Dublin", "30 1 * * *", "2026-10-24T12:00+01:00", "2026-10-25T01:30+01:00 2026-10-26T01:30+00:00"),
        ("America/St_Johns", "@daily", "2010-11-06T12:00-02:30", "2010-11-07T00:00-02:30 2010-11-08T00:00-03:30"),
        ("America/St_Johns", "*/30 * * * *", "2010-11-06T23:45-02:30", "2010-11-07T00:00-02:30 2010-11-06T23:30-03:30 2010-11-07T00:00-03:30"),
    ],
)  # fmt: skip
def test_where_clocks_change(zone: str, expression: str, after: str, expected: str) -> None:
    assert local_slots(expression, zone, after, len(expected.split())) == expected.split()


def test_a_zone_whose_offset_has_seconds() -> None:
    # Monrovia was 44 minutes and 30 seconds behind UTC until 7 January 1972.
    before = datetime(1972, 1, 6, 12, tzinfo=UTC)

    assert cron.upcoming("* * * * *", "Africa/Monrovia", before, 1) == [before + timedelta(seconds=30)]
    assert cron.upcoming("0 0 * * *", "Africa/Monrovia", before, 1) == [datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC)]


class Turned(tzinfo):
    """A zone of two offsets in hours, with the fold of a wall time to tell them apart."""

    def __init__(self, at: datetime, before: int, after: int) -> None:
        self.at, self.offsets = at, (timedelta(hours=before), timedelta(hours=after))

    def fromutc(self, moment: datetime) -> datetime:
        fold = int(moment.replace(tzinfo=UTC) >= self.at)
        return (moment + self.offsets[fold]).replace(fold=fold)

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return self.offsets[moment.fold if moment else 0]


@pytest.mark.parametrize(
    ("zone", "expression", "expected"),
    [
        (Turned(NEW_YEAR, 0, 1), "30 0 * * *", "2025-12-30T00:30Z 2025-12-31T00:30Z 2026-01-01T00:00Z"),
        (Turned(NEW_YEAR - HALF_AN_HOUR, 1, 0), "15 0 * * *", "2025-12-30T23:15Z 2025-12-31T23:15Z 2026-01-02T00:15Z"),
        (
            Turned(NEW_YEAR - HALF_AN_HOUR, 1, 0),
            "15 */24 * * *",
            "2025-12-30T23:15Z 2025-12-31T23:15Z 2026-01-01T00:15Z",
        ),
    ],
    ids=["forward", "back, at a fixed time", "back, by elapsed time"],
)
def test_clocks_that_change_at_the_turn_of_the_year(zone: tzinfo, expression: str, expected: str) -> None:
    rule = CronRule(cron=parse(expression), zone=zone)

    assert rule.upcoming(NEW_YEAR - 2 * DAY, 3) == [datetime.fromisoformat(slot) for slot in expected.split()]


@pytest.mark.parametrize("expression", ["0 0 * * *", "30 2 * * *", "15 1 * * *", "59 23 * * *", "30 12 * * *"])
@pytest.mark.parametrize("zone", sorted({zone for zone, day in CHANGES if day.year == 2026}))
def test_a_daily_job_runs_once_on_each_local_day_of_a_year(zone: str, expression: str) -> None:
    start, end = (datetime(year, 1, 1, tzinfo=ZoneInfo(zone)) - TICK for year in (2026, 2027))
    rule = CronRule.of(expression, zone)

    days = [slot.astimezone(ZoneInfo(zone)).date() for slot in rule.upcoming(start, 365)]

    assert days == [date(2026, 1, 1) + number * DAY for number in range(365)]
    assert rule.count(start, end) == 365


HOURLY, STEADY = "0 0-23 * * *", "0 * * * *"


@pytest.mark.parametrize(
    ("zone", "expression", "count"),
    [
        ("UTC", "* * * * *", 525_600),
        ("Europe/Berlin", "* * * * *", 525_600),
        ("Australia/Lord_Howe", "* * * * *", 525_600),
        ("Antarctica/Troll", "* * * * *", 525_600),
        ("Europe/Berlin", STEADY, 8760),
        ("Australia/Lord_Howe", "*/30 * * * *", 17_520),
        # In spring at 02:00, which is skipped; in autumn 02:00 comes twice (not on Lord Howe).
        ("Europe/Berlin", "0 */2 * * *", 4380),
        ("Australia/Lord_Howe", STEADY, 8759),
        ("America/Santiago", "0 */12 * * *", 729),
        # The hour that comes twice is one; that which is skipped is one with the next.
        ("Europe/Berlin", HOURLY, 8759),
        ("America/New_York", HOURLY, 8759),
        ("America/Santiago", HOURLY, 8759),
        ("Africa/Cairo", HOURLY, 8759),
        ("Asia/Beirut", HOURLY, 8759),
        ("Antarctica/Troll", HOURLY, 8758),
        ("Australia/Lord_Howe", HOURLY, 8760),
        ("Europe/Berlin", "30 0-23 * * *", 8760),
        ("Europe/Berlin", "0-59 0-23 * * *", 525_540),
        ("Europe/Berlin", "0 9 * * MON-FRI", 261),
        ("Europe/Berlin", "0 0 L * *", 12),
    ],
)
def test_the_slots_of_a_year_are_counted(zone: str, expression: str, count: int) -> None:
    start, end = (datetime(year, 1, 1, tzinfo=ZoneInfo(zone)) - TICK for year in (2026, 2027))

    assert CronRule.of(expression, zone).count(start, end) == count


@settings(deadline=None, max_examples=150)
@given(crontabs, st.sampled_from(CHANGES), st.lists(st.integers(0, 48 * 60), min_size=2, max_size=2, unique=True))
def test_slots_are_those_of_a_clock_that_is_watched_minute_by_minute(
    crontab: Crontab, change: tuple[str, date], ends: list[int]
) -> None:
    zone, day = change
    rule = rule_of(crontab, zone)
    after, until = (span(day)[0] + timedelta(minutes=minute) for minute in sorted(ends))

    watched = [moment for moment in crontab.runs(zone, day) if after < moment <= until]

    assert rule.newest(after, until, 3000) == watched
    assert rule.count(after, until) == len(watched)
    assert rule.upcoming(after, len(watched)) == watched


@settings(deadline=None)
@given(rules, moments, st.integers(1, 12))
def test_slots_are_the_same_whichever_way_one_comes(rule: Timetable, after: datetime, count: int) -> None:
    slots = rule.upcoming(after, count)

    assert len(slots) == count
    assert all(slot.tzinfo is UTC for slot in slots)
    assert all(earlier < later for earlier, later in zip([after, *slots], slots, strict=False))
    assert [rule.after(slot - TICK) for slot in slots] == slots
    assert [slot for start in [after, *slots[:-1]] if (slot := rule.after(start))] == slots
    assert [rule.latest(after, slot) for slot in slots] == slots
    assert rule.newest(after, slots[-1], count + 5) == slots
    assert rule.newest(after, slots[-1], 2) == slots[-2:]
    assert [rule.count(after, slot) for slot in slots] == list(range(1, count + 1))
    assert [rule.count(after, slot - TICK) for slot in slots] == list(range(count))
    assert rule.latest(after, slots[0] - TICK) is None


@settings(deadline=None)
@given(crontabs, zones, moments)
def test_a_slot_is_a_matching_time_or_right_after_a_jump_of_the_clocks(
    crontab: Crontab, zone: str, after: datetime
) -> None:
    rule = rule_of(crontab, zone)

    for slot in rule.upcoming(after, 5):
        wall, before = (moment.astimezone(ZoneInfo(zone)) for moment in (slot, slot - TICK))
        jumped = not crontab.follows_elapsed_time and wall.utcoffset() != before.utcoffset()
        assert crontab.matches(wall.replace(tzinfo=None)) or jumped


@settings(deadline=None)
@given(rules, moments, moments, moments)
def test_counts_add_up(rule: Timetable, one: datetime, two: datetime, three: datetime) -> None:
    first, middle, last = sorted([one, two, three])

    assert rule.count(first, middle) + rule.count(middle, last) == rule.count(first, last)


@pytest.mark.parametrize(
    "rule", [CronRule.of("0 * * * *", "Europe/Berlin"), IntervalRule.of(3600)], ids=["cron", "interval"]
)
def test_nothing_is_in_a_span_that_is_empty_or_backwards(rule: Timetable) -> None:
    for until in (NEW_YEAR, NEW_YEAR - 500 * DAY):
        assert rule.count(NEW_YEAR, until) == 0
        assert rule.latest(NEW_YEAR, until) is None
        assert rule.newest(NEW_YEAR, until, 5) == []


@pytest.mark.parametrize("rule", [CronRule.of("0 * * * *", "UTC"), IntervalRule.of(3600)], ids=["cron", "interval"])
@pytest.mark.parametrize("count", [0, -1])
def test_none_are_given_where_none_are_asked(rule: Timetable, count: int) -> None:
    assert rule.upcoming(NEW_YEAR, count) == []
    assert rule.newest(NEW_YEAR, NEW_YEAR + DAY, count) == []


@pytest.mark.parametrize(
    "rule", [CronRule.of("0 * * * *", "Europe/Berlin"), IntervalRule.of(7)], ids=["cron", "interval"]
)
@pytest.mark.parametrize("offset", [-14, 0, 14])
def test_the_ends_of_time_are_no_trouble(rule: Timetable, offset: int) -> None:
    zone = timezone(timedelta(hours=offset))
    first, last = FIRST.replace(tzinfo=zone), LAST.replace(tzinfo=zone)

    assert rule.after(last) is None
    assert rule.upcoming(last - 366 * DAY, 2) == []
    assert rule.latest(last - DAY, last) is None
    assert rule.after(first) is not None
    assert rule.latest(first, first + DAY) is None


def test_a_span_that_ends_right_after_a_jump_has_what_is_made_up() -> None:
    rule = CronRule.of("30 2 * * *", "Europe/Berlin")
    jump = datetime(2026, 3, 29, 1, tzinfo=UTC)

    assert rule.latest(jump - 12 * HALF_AN_HOUR, jump) == jump
    assert rule.count(jump - 12 * HALF_AN_HOUR, jump) == 1
    assert rule.latest(jump, jump + 12 * HALF_AN_HOUR) is None


def test_a_span_that_ends_in_a_second_pass_has_what_ran_in_the_first() -> None:
    rule = CronRule.of("59 2 * * *", "Europe/Berlin")
    turn = datetime(2026, 10, 25, 1, tzinfo=UTC)

    assert rule.latest(turn - DAY, turn + timedelta(minutes=10)) == turn - timedelta(minutes=1)
    assert rule.count(turn - 12 * HALF_AN_HOUR, turn + timedelta(minutes=10)) == 1


def test_the_latest_of_several_years_is_in_the_last() -> None:
    rule = CronRule.of("0 0 5 3 *", "UTC")

    assert rule.latest(NEW_YEAR - 900 * DAY, NEW_YEAR) == datetime(2025, 3, 5, tzinfo=UTC)
    assert rule.newest(NEW_YEAR - 900 * DAY, NEW_YEAR, 5) == [datetime(year, 3, 5, tzinfo=UTC) for year in (2024, 2025)]


def test_rare_runs_are_found_without_a_look_at_the_clocks_of_the_years_between() -> None:
    stretches_of.cache_clear()

    slots = cron.upcoming("0 0 29 2 */7", "Europe/Berlin", NEW_YEAR, 20)

    assert slots[-1].year - slots[0].year > 500
    assert stretches_of.cache_info().misses <= len(slots)


def test_slots_end_where_time_does() -> None:
    nearly = datetime(9997, 12, 29, 12, tzinfo=UTC)

    assert len(cron.upcoming("0 3 * * *", "UTC", nearly, 9)) == 1
    assert cron.upcoming("@yearly", "UTC", nearly, 9) == []
    assert IntervalRule.of(cron.MAX_INTERVAL_SECONDS).after(nearly) is None


@pytest.mark.parametrize("options", [{"expression": "0 3 * * *"}, {"every": 3600}], ids=["cron", "interval"])
def test_no_slot_is_before_the_start(options: dict[str, Any]) -> None:
    starts_at = datetime(2026, 5, 1, 3, tzinfo=UTC)
    rule = cron.rule_for(**options, starts_at=starts_at)

    assert rule.after(NEW_YEAR) == starts_at
    assert rule.count(NEW_YEAR, starts_at) == 1
    assert rule.count(NEW_YEAR, starts_at - TICK) == 0
    assert rule.latest(NEW_YEAR, starts_at - TICK) is None
    assert rule.newest(NEW_YEAR, starts_at, 9) == [starts_at]


def test_a_rule_is_for_an_expression_in_a_zone_or_for_an_interval() -> None:
    expression = cron.rule_for(expression=" @daily ", zone="Europe/Berlin")

    assert expression == CronRule.of("@daily", ZoneInfo("Europe/Berlin"))
    assert cron.rule_for(every=60, zone="Europe/Berlin") == IntervalRule.of(timedelta(minutes=1))


@pytest.mark.parametrize(
    "options", [{}, {"expression": "@daily", "every": 60}, {"expression": "@daily", "every": 0}], ids=str
)
def test_a_rule_is_for_one_of_the_two(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchedule, match=r"a cron expression or an interval \('every'\): give one of the two"):
        cron.rule_for(**options)


@pytest.mark.parametrize(
    ("every", "starts_at", "after", "expected"),
    [
        pytest.param(3600, None, "2026-01-01T10:20+00:00", "2026-01-01T11:00+00:00", id="on the hour of 1970"),
        pytest.param(7 * 86_400, None, "2026-01-01T00:00+00:00", "2026-01-08T00:00+00:00", id="on Thursdays, as in 1970"),
        pytest.param(7, None, "1969-12-31T23:59:55+00:00", "1970-01-01T00:00:00+00:00", id="before 1970 too"),
        pytest.param(3600, "2026-01-01T10:20:30.5+00:00", "2026-01-01T12:00+00:00", "2026-01-01T12:20:30.5+00:00", id="from its start"),
        pytest.param(3600, "2026-03-29T01:30+01:00", "2026-03-29T01:45+01:00", "2026-03-29T03:30+02:00", id="of elapsed time"),
        pytest.param(3600, "2026-01-01T00:00+00:00", "2026-01-01T06:59:59+05:00", "2026-01-01T02:00+00:00", id="asked in another zone"),
    ],
)  # fmt: skip
def test_an_interval(every: int, starts_at: str | None, after: str, expected: str) -> None:
    rule = IntervalRule.of(every, starts_at=datetime.fromisoformat(starts_at) if starts_at else None)

    assert rule.after(datetime.fromisoformat(after)) == datetime.fromisoformat(expected)


def test_an_interval_does_not_follow_the_clocks_of_its_starts_zone() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    rule = IntervalRule.of(86_400, starts_at=datetime(2026, 3, 28, 12, tzinfo=berlin))

    assert rule.after(datetime(2026, 3, 29, 0, tzinfo=berlin)) == datetime(2026, 3, 29, 13, tzinfo=berlin)


def test_an_interval_does_not_drift() -> None:
    starts_at = datetime(2026, 1, 1, 0, 0, 0, 123_457, tzinfo=UTC)
    rule = IntervalRule.of(1, starts_at=starts_at)

    assert rule.latest(starts_at, starts_at + 36_500 * DAY) == starts_at + 36_500 * DAY
    assert rule.count(starts_at, starts_at + 36_500 * DAY) == 36_500 * 86_400


@pytest.mark.parametrize(
    ("every", "message"),
    [
        (0, "Interval 0 is out of range: give 1 to 315360000 seconds."),
        (-60, "Interval -60 is out of range"),
        (cron.MAX_INTERVAL_SECONDS + 1, "Interval 315360001 is out of range"),
        (10**400, "is out of range"),
        (timedelta(0), "Interval datetime.timedelta(0) is out of range"),
        (timedelta.max, "is not a whole number of seconds"),
        (timedelta(milliseconds=1500), "is not a whole number of seconds: give an int, or a timedelta."),
        (60.0, "Interval 60.0 is not a whole number of seconds"),
        (float("nan"), "Interval nan is not a whole number of seconds"),
        (True, "Interval True is not a whole number of seconds"),
        ("60", "Interval '60' is not a whole number of seconds"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_interval_is_refused(every: Any, message: str) -> None:
    with pytest.raises(InvalidInterval, match=re.escape(message)):
        cron.rule_for(every=every)


@pytest.mark.parametrize("options", [{"expression": "0 3 * * *"}, {"every": 3600}], ids=["cron", "interval"])
def test_naive_moments_are_refused(options: dict[str, Any]) -> None:
    naive, rule = NEW_YEAR.replace(tzinfo=None), cron.rule_for(**options)

    with pytest.raises(InvalidSchedule, match="is naive: give it a time zone"):
        rule.after(naive)
    with pytest.raises(InvalidSchedule, match="is naive"):
        rule.latest(NEW_YEAR, naive)
    with pytest.raises(InvalidSchedule, match="is naive"):
        rule.count(naive, NEW_YEAR)
    with pytest.raises(InvalidSchedule, match="is naive"):
        cron.rule_for(**options, starts_at=naive)
