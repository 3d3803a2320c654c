"""What is shown of a schedule's next runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from jobs import cron
from jobs.cron import Occurrence
from jobs.exceptions import InvalidSchedule

pytestmark = pytest.mark.once

BERLIN = ZoneInfo("Europe/Berlin")
SPRING, AUTUMN = datetime(2026, 3, 29, tzinfo=BERLIN), datetime(2026, 10, 25, tzinfo=BERLIN)


def test_a_run_is_shown_in_utc_and_on_the_clock_of_the_zone() -> None:
    shown = cron.preview(" 0 3 * * *", "Europe/Berlin", datetime(2026, 7, 1, tzinfo=UTC), 2)

    assert shown == [
        Occurrence(at=datetime(2026, 7, day, 1, tzinfo=UTC), local=datetime(2026, 7, day, 3, tzinfo=BERLIN))
        for day in (1, 2)
    ]
    assert [f"{run.at:%H:%M %Z}, {run.local:%H:%M %Z}" for run in shown] == ["01:00 UTC, 03:00 CEST"] * 2


@pytest.mark.parametrize(
    ("expression", "after", "notes"),
    [
        ("30 2 * * *", SPRING, ["02:30 is skipped that day: runs at 03:00.", ""]),
        ("15,45 2 * * *", SPRING, ["02:15 to 02:45 are skipped that day: runs once, at 03:00.", ""]),
        ("0 2,3 * * *", SPRING, ["02:00 is skipped that day: runs at 03:00.", ""]),
        ("0 3 * * *", SPRING, ["", ""]),
        ("0 */2 * * *", SPRING - timedelta(minutes=1), ["", "02:00 is skipped that day, without a run for it.", ""]),
        ("*/30 * * * *", SPRING + timedelta(hours=1), ["", "02:00 to 02:30 are skipped that day, without runs for them."]),
        ("*/30 2 * * *", SPRING, ["2026-03-29 02:00 to 2026-03-29 02:30 are skipped that day, without runs for them."]),
        ("30 2 * * *", AUTUMN, ["02:30 comes twice that day: runs at the first.", ""]),
        ("0 3 * * *", AUTUMN, ["", ""]),
        (
            "0 * * * *",
            AUTUMN + timedelta(hours=1),
            ["02:00 comes twice that day: this is the first.", "02:00 comes twice that day: this is the second.", ""],
        ),
    ],
)  # fmt: skip
def test_a_note_says_how_a_change_of_the_clocks_touches_a_run(
    expression: str, after: datetime, notes: list[str]
) -> None:
    shown = cron.preview(expression, "Europe/Berlin", after, len(notes))

    assert [run.note for run in shown] == notes


def test_a_whole_day_that_is_skipped_is_named() -> None:
    shown = cron.preview("0 12 * * *", "Pacific/Apia", datetime(2011, 12, 30, 9, tzinfo=UTC), 1)

    assert [run.note for run in shown] == ["2011-12-30 12:00 is skipped that day: runs at 00:00."]


@pytest.mark.parametrize("expression", ["30 2 * * *", "*/30 2 * * *"])
def test_what_is_skipped_before_the_start_is_no_loss(expression: str) -> None:
    rule = cron.rule_for(expression=expression, zone="Europe/Berlin", starts_at=SPRING + timedelta(days=9))

    assert [run.note for run in cron.preview(rule, "Europe/Berlin", SPRING, 2)] == ["", ""]


def test_a_run_that_is_asked_for_again_after_it_has_no_note_of_what_is_past() -> None:
    shown = cron.preview("0 * * * *", "Europe/Berlin", SPRING.replace(hour=3), 1)

    assert [run.note for run in shown] == [""]


def test_a_rule_is_shown_on_any_clock() -> None:
    shown = cron.preview(cron.rule_for(expression="30 2 * * *", zone="Europe/Berlin"), "Asia/Tokyo", SPRING, 1)

    assert [f"{run.local:%H:%M}" for run in shown] == ["10:00"]
    assert [run.note for run in shown] == ["02:30 is skipped that day: runs at 03:00."]


def test_an_interval_has_no_notes() -> None:
    shown = cron.preview(cron.rule_for(every=3600), "Europe/Berlin", AUTUMN, 4)

    assert [f"{run.local:%H:%M}" for run in shown] == ["01:00", "02:00", "02:00", "03:00"]
    assert {run.note for run in shown} == {""}


def test_a_preview_from_a_naive_moment_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="is naive"):
        cron.preview("0 3 * * *", "UTC", SPRING.replace(tzinfo=None), 1)
