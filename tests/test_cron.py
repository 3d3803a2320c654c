"""How cron expressions are read, and what is said of those that are refused."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jobs import cron
from jobs.cron.expressions import ALIASES, parse
from jobs.exceptions import InvalidCron, InvalidSchedule, InvalidZone, JobsError

pytestmark = pytest.mark.once

CASES = json.loads((Path(__file__).parent / "data" / "cron_cases.json").read_text())
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = "Cron expression %r would never run: no day fits day of month %r, month %r and weekday %r."


def times(expression: str, count: int) -> list[str]:
    """Return the first times of the year as ``minute hour``."""
    return [f"{slot:%-M %-H}" for slot in cron.upcoming(expression, "UTC", NEW_YEAR - timedelta(seconds=1), count)]


def days(expression: str, after: datetime, count: int) -> list[str]:
    return [f"{slot:%m-%d}" for slot in cron.upcoming(expression, "UTC", after, count)]


def weekdays(field: str) -> set[str]:
    return {f"{slot:%a}" for slot in cron.upcoming(f"0 8 * * {field}", "UTC", NEW_YEAR, 30)}


@pytest.mark.parametrize("case", [case for case in CASES if "runs" in case], ids=lambda case: case["case"])
def test_cases_from_practice(case: dict[str, Any]) -> None:
    runs = cron.upcoming(case["expression"], case["zone"], datetime.fromisoformat(case["after"]), 5)

    assert runs == [datetime.fromisoformat(run) for run in case["runs"]]


@pytest.mark.parametrize("case", [case for case in CASES if "runs" not in case], ids=lambda case: case["case"])
def test_cases_from_practice_that_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidCron):
        cron.validate(case["expression"])


@pytest.mark.parametrize(
    ("expression", "normalised"),
    [
        ("*/5 * * * *", "*/5 * * * *"),
        ("  0\t3 *  *\n*  ", "0 3 * * *"),
        ("0 3 * JAN Mon-fri", "0 3 * JAN Mon-fri"),
        (" @Daily ", "@daily"),
        ("@MIDNIGHT", "@midnight"),
    ],
)
def test_an_expression_is_kept_as_written_but_for_its_spaces(expression: str, normalised: str) -> None:
    assert cron.validate(expression) == normalised


def test_what_was_read_once_is_kept() -> None:
    assert parse(" 0 3 * * *") is parse("0 3 * * * ")


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_stands_for_an_expression(alias: str) -> None:
    runs = cron.upcoming(alias, "Europe/Berlin", NEW_YEAR, 30)

    assert runs == cron.upcoming(ALIASES[alias], "Europe/Berlin", NEW_YEAR, 30)


@pytest.mark.parametrize(
    ("field", "minutes"),
    [
        ("*/15", [0, 15, 30, 45]),
        ("*/60", [0]),
        ("50/3", [50, 53, 56, 59]),
        ("59/15", [59]),
        ("5-5", [5]),
        ("5-5/2", [5]),
        ("10-20/7", [10, 17]),
        ("58-2", [0, 1, 2, 58, 59]),
        ("58-2/2", [0, 2, 58]),
        ("56-5/3", [2, 5, 56, 59]),
        ("45-15/30", [15, 45]),
        ("50-49/20", [10, 30, 50]),
        ("30,5,30,5-7", [5, 6, 7, 30]),
        ("007", [7]),
    ],
)
def test_lists_ranges_and_steps(field: str, minutes: list[int]) -> None:
    assert times(f"{field} 0 * * *", len(minutes) + 1) == [f"{minute} 0" for minute in [*minutes, minutes[0]]]


def test_a_star_beside_other_values_is_still_every_value() -> None:
    assert times("*,5 * * * *", 3) == ["0 0", "1 0", "2 0"]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("*", "Mon Tue Wed Thu Fri Sat Sun"),
        ("mon-SUN", "Mon Tue Wed Thu Fri Sat Sun"),
        ("0-7", "Mon Tue Wed Thu Fri Sat Sun"),
        ("0-6", "Mon Tue Wed Thu Fri Sat Sun"),
        ("1-7/2", "Mon Wed Fri Sun"),
        ("0-7/2", "Sun Tue Thu Sat"),
        ("*/2", "Sun Tue Thu Sat"),
        ("FRI-MON", "Fri Sat Sun Mon"),
        ("4-1/2", "Thu Sat Mon"),
        ("7", "Sun"),
        ("7-2", "Sun Mon Tue"),
        ("7-0", "Sun"),
        ("SUN-SUN", "Sun"),
        ("6-7", "Sat Sun"),
        ("sat/2", "Sat"),
        ("3/2", "Wed Fri"),
        ("MON,3,Fri", "Mon Wed Fri"),
    ],
)
def test_weekdays(field: str, expected: str) -> None:
    assert weekdays(field) == set(expected.split())


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        pytest.param("0 0 31-1 * *", "2026-01-01", "01-31 02-01 03-01 03-31 04-01", id="dates that wrap"),
        pytest.param("0 0 30-3/2 * *", "2026-02-03", "03-01 03-03 03-30 04-01", id="counted over 31 days"),
        pytest.param("0 0 1 NOV-2 *", "2026-01-01", "02-01 11-01 12-01 01-01 02-01", id="months that wrap"),
        pytest.param("0 0 1 jan/6 *", "2026-01-01", "07-01 01-01", id="every half year"),
        pytest.param("0 0 L * *", "2026-01-31", "02-28 03-31 04-30", id="the last day of the month"),
        pytest.param("0 0 15,L 2 *", "2028-02-01", "02-15 02-29 02-15 02-28", id="beside a date"),
        pytest.param("0 0 2-31,L * *", "2026-02-27", "02-28 03-02", id="beside all dates but one"),
        pytest.param("0 0 * * L5", "2026-01-01", "01-30 02-27 03-27 04-24 05-29", id="the last Friday"),
        pytest.param("0 0 * * l7", "2026-01-01", "01-25 02-22 03-29", id="the last Sunday"),
        pytest.param("0 0 * * 7#1", "2026-01-01", "01-04 02-01 03-01", id="the first Sunday"),
        pytest.param("0 0 * * 5#5", "2026-01-01", "01-30 05-29 07-31 10-30", id="the fifth Friday, if there is one"),
        pytest.param("0 0 * * mon#1,L2", "2026-01-01", "01-05 01-27 02-02 02-24", id="two kinds of those"),
        pytest.param("0 0 1 * MON#2", "2026-01-01", "01-12 02-01 02-09", id="a date or a weekday of some weeks"),
        pytest.param("0 0 13 * FRI", "2026-01-30", "02-06 02-13 02-20 02-27 03-06", id="a date or a weekday"),
        pytest.param("0 0 1-7 * */7", "2026-01-01", "01-04 02-01 03-01", id="both, if the weekday starts with a star"),
        pytest.param("0 0 */31 2 *", "2026-01-01", "02-01 02-01", id="a step as long as a month"),
        pytest.param("0 0 29 2 1", "2026-02-23", "02-01 02-08", id="a leap day or a Monday in February"),
    ],
)
def test_days(expression: str, after: str, expected: str) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)

    assert days(expression, moment, len(expected.split())) == expected.split()


@pytest.mark.parametrize("weekday", range(7))
def test_a_leap_day_comes_on_every_weekday(weekday: int) -> None:
    runs = cron.upcoming(f"0 0 * 2 {weekday}#5", "UTC", NEW_YEAR, 2)

    assert [f"{run:%m-%d}" for run in runs] == ["02-29", "02-29"]
    assert runs[1].year - runs[0].year == 28


def test_a_leap_day_on_a_given_weekday_is_found_across_a_century_without_one() -> None:
    runs = cron.upcoming("0 0 29 2 */7", "UTC", datetime(2076, 1, 1, tzinfo=UTC), 2)

    assert [run.year for run in runs] == [2088, 2128]


FIVE = "give five, minute, hour, day of month, month and weekday"
MINUTES = "use 0-59, '*' or steps such as '*/5'"
DATES = "use 1-31, '*' or L, the last day"
MONTHS = "use 1-12, JAN-DEC, '*' or lists such as '1,7'"
WEEKDAYS = "use 0-7, SUN-SAT, '*' or MON#2, the second Monday"
HASHED = "hashed and random values are not supported, give the schedule a jitter"
SECONDS = "seconds and years are not supported, use 'every' for intervals below a minute"
NO_SPACES = "within a field there are no spaces, write '1,15' and '1-5'"
BOOT = "there is no boot to run at, enqueue the job where your program starts"
L_IS = "L is the last day, alone in day of month, and L5 in weekday the last Friday"
NEAREST = "the nearest weekday (W) is not supported"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", f"Cron expression '' has 0 fields: {FIVE}."),
        ("* * * *", f"Cron expression '* * * *' has 4 fields: {FIVE}."),
        ("0 * * * * *", f"Cron expression '0 * * * * *' has 6 fields: {FIVE}; {SECONDS}."),
        ("0 0 1 1 * 0 2030", f"Cron expression '0 0 1 1 * 0 2030' has 7 fields: {FIVE}; {SECONDS}."),
        ("0 0 * * *\n0 1 * * *", f"has 10 fields: {FIVE}."),
        ("0 9 1, 15 * *", f"Cron expression '0 9 1, 15 * *' has 6 fields: {FIVE}; {NO_SPACES}."),
        ("0 9 * * 1 - 5", f"Cron expression '0 9 * * 1 - 5' has 7 fields: {FIVE}; {NO_SPACES}."),
        ("@reboot", f"Cron alias '@reboot': {BOOT}; use @hourly, @daily, @midnight,"),
        ("@every 5m", "Cron alias '@every 5m': not known; use @hourly, @daily,"),
        ("@daily *", "Cron alias '@daily *': not known; use"),
        ("60 * * * *", f"Minute '60' is out of range: {MINUTES}."),
        ("0 24 * * *", "Hour '24' is out of range: use 0-23, '*' or ranges such as '9-17'."),
        ("0 0 0 * *", f"Day of month '0' is out of range: {DATES}."),
        ("0 0 1-32 * *", f"Day of month '1-32' is out of range: {DATES}."),
        ("0 0 * 0 *", f"Month '0' is out of range: {MONTHS}."),
        ("0 0 * 13 *", f"Month '13' is out of range: {MONTHS}."),
        ("0 0 * * 8", f"Weekday '8' is out of range: {WEEKDAYS}."),
        ("0-99999999/1 * * * *", f"Minute '0-99999999/1' is out of range: {MINUTES}."),
        ("99999999-0 * * * *", f"Minute '99999999-0' is out of range: {MINUTES}."),
        ("0 0 * January *", f"Month 'January' is not understood: {MONTHS}."),
        ("0 0 * april *", f"Month 'april' is not understood: {MONTHS}."),
        ("0 0 * * Jan", f"Weekday 'Jan' is not understood: {WEEKDAYS}."),
        ("mon * * * *", f"Minute 'mon' is not understood: {MINUTES}."),
        ("*/0 * * * *", "Minute '*/0' has a step out of range: use 1-60."),
        ("*/90 * * * *", "Minute '*/90' has a step out of range: use 1-60."),
        ("0 0 * * 1/8", "Weekday '1/8' has a step out of range: use 1-7."),
        ("0 */-1 * * *", "Hour '*/-1' is not understood: use 0-23, '*' or ranges"),
        ("-5 * * * *", f"Minute '-5' is not understood: {MINUTES}."),
        ("1.5 * * * *", f"Minute '1.5' is not understood: {MINUTES}."),
        ("1,,2 * * * *", f"Minute '' is not understood: {MINUTES}."),
        ("1, * * * *", f"Minute '' is not understood: {MINUTES}."),
        ("*-5 * * * *", f"Minute '*-5' is not understood: {MINUTES}."),
        ("1-5-9 * * * *", f"Minute '1-5-9' is not understood: {MINUTES}."),
        ("1/2/3 * * * *", f"Minute '1/2/3' is not understood: {MINUTES}."),
        ("*/ * * * *", f"Minute '*/' is not understood: {MINUTES}."),
        ("** * * * *", f"Minute '**' is not understood: {MINUTES}."),
        ("1\0 * * * *", f"Minute '1\\x00' is not understood: {MINUTES}."),
        ("H * * * *", f"Minute 'H' is not understood: {HASHED}."),
        ("0 h(0-7)/2 * * *", f"Hour 'h(0-7)/2' is not understood: {HASHED}."),
        ("R/15 * * * *", f"Minute 'R/15' is not understood: {HASHED}."),
        ("0 0 ? * *", "Day of month '?' is not understood: '?' is not supported, write '*'."),
        ("0 0 LW * *", f"Day of month 'LW' is not understood: {NEAREST}."),
        ("0 0 15W * *", f"Day of month '15W' is not understood: {NEAREST}."),
        ("0 0 w15 * *", f"Day of month 'w15' is not understood: {NEAREST}."),
        ("0 0 5C * *", "Day of month '5C' is not understood: the calendar (C) is not supported."),
        ("0 0 L-3 * *", f"Day of month 'L-3' is not understood: {L_IS}."),
        ("0 0 25-L * *", f"Day of month '25-L' is not understood: {L_IS}."),
        ("L * * * *", f"Minute 'L' is not understood: {L_IS}."),
        ("0 0 * * L", f"Weekday 'L' is not understood: {L_IS}."),
        ("0 0 * * 5L", f"Weekday '5L' is not understood: {L_IS}."),
        ("0 0 * * friL", f"Weekday 'friL' is not understood: {L_IS}."),
        ("0 0 * * L8", f"Weekday 'L8' is out of range: {WEEKDAYS}."),
        ("0 0 * * MON#0", "Weekday 'MON#0' is out of range: use #1 to #5, or L5 for the last Friday."),
        ("0 0 * * MON#6", "Weekday 'MON#6' is out of range: use #1 to #5"),
        ("0 0 * * 8#1", f"Weekday '8#1' is out of range: {WEEKDAYS}."),
        ("0 0 * * FOO#1", f"Weekday 'FOO#1' is not understood: {WEEKDAYS}."),
        ("0 0 * * MON-FRI#1", f"Weekday 'MON-FRI#1' is not understood: {WEEKDAYS}."),
        ("0 0 1#1 * *", f"Day of month '1#1' is not understood: {DATES}."),
        ("0 0 * * MON#2,MON", "Weekday 'MON#2,MON' mixes days of every week with days of some: use one kind."),
        ("0 0 * * L5,1-3", "Weekday 'L5,1-3' mixes days of every week with days of some: use one kind."),
        ("0 0 31 2 *", NEVER % ("0 0 31 2 *", "31", "2", "*")),
        ("0 0 31 4,6 *", NEVER % ("0 0 31 4,6 *", "31", "4,6", "*")),
        ("0 0 31 4,6 */2", NEVER % ("0 0 31 4,6 */2", "31", "4,6", "*/2")),
        ("0 0 30,31 2 */7", NEVER % ("0 0 30,31 2 */7", "30,31", "2", "*/7")),
        ("\u0663 * * * *", "Cron expression '\u0663 * * * *' has characters that no field knows: use plain ASCII."),
        ("0 0 * *\u00a0*", "has characters that no field knows: use plain ASCII."),
        ("\ud800 * * * *", "has characters that no field knows: use plain ASCII."),
        ("9" * 247 + " * * * *", "is out of range"),
        ("9" * 248 + " * * * *", "Cron expression has 256 characters: give at most 255."),
        ("5," * 1_000_000 + "5 * * * *", "Cron expression has 2000009 characters: give at most 255."),
        (None, "A cron expression is text such as '0 3 * * *', this is of type NoneType."),
        (b"* * * * *", "A cron expression is text such as '0 3 * * *', this is of type bytes."),
        (["*"], "A cron expression is text such as '0 3 * * *', this is of type list."),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_is_refused(expression: Any, message: str) -> None:
    with pytest.raises(InvalidCron, match=re.escape(message)):
        cron.validate(expression)


def test_a_refusal_is_one_of_ours_and_a_value_error() -> None:
    assert issubclass(InvalidCron, InvalidSchedule)
    assert issubclass(InvalidSchedule, JobsError)
    assert issubclass(InvalidSchedule, ValueError)


@pytest.mark.parametrize("zone", ["Europe/Berlin", ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=1))], ids=repr)
def test_a_zone_is_a_name_or_a_zone(zone: Any) -> None:
    assert cron.upcoming("0 3 * * *", zone, NEW_YEAR, 1) == [NEW_YEAR + timedelta(hours=2)]


@pytest.mark.parametrize(
    "zone",
    ["", "Mars/Olympus", "Europe", "../../etc/passwd", "/etc/passwd", "UTC\0", "\ud800", "x" * 100_000, "UTC+1"],
    ids=lambda zone: ascii(zone)[:20],
)
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidZone, match=re.escape(f"Time zone {zone[:80]!r} is not known: give an IANA name")):
        cron.upcoming("0 3 * * *", zone, NEW_YEAR, 1)


@pytest.mark.parametrize("zone", [None, 1, b"UTC"], ids=repr)
def test_what_is_no_zone_is_refused(zone: Any) -> None:
    with pytest.raises(InvalidZone, match=re.escape(f"Time zone {zone!r} is not understood: give a name")):
        cron.upcoming("0 3 * * *", zone, NEW_YEAR, 1)


def test_a_naive_moment_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match=r"Moment datetime.datetime\(2026, 1, 1, 0, 0\) is naive"):
        cron.upcoming("0 3 * * *", "UTC", NEW_YEAR.replace(tzinfo=None), 1)
