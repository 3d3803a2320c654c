"""Durations as people say them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.durations import spoken, spoken_roughly


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (None, ""),
        (0, "0 ms"),
        (0.0004, "0.4 ms"),
        (timedelta(milliseconds=420), "420 ms"),
        (9.974, "9.97 s"),
        (59.4, "59.4 s"),
        (59.7, "1 min"),
        (61, "1 min 1 s"),
        (3_599, "59 min 59 s"),
        (timedelta(hours=3, minutes=12, seconds=5), "3 h 12 min"),
        (timedelta(days=7), "7 d"),
        (timedelta(days=8, hours=5), "8 d 5 h"),
    ],
    ids=str,
)
def test_a_duration_is_said_in_the_units_that_matter(length: timedelta | float | None, said: str) -> None:
    assert spoken(length) == said


@pytest.mark.parametrize(
    ("length", "said"),
    [(timedelta(seconds=-2), "1 s"), (0.2, "1 s"), (3.04, "3 s"), (59.7, "1 min"), (75, "1 min 15 s")],
)
def test_how_far_off_something_is_has_no_parts_of_seconds(length: timedelta | float, said: str) -> None:
    assert spoken_roughly(length) == said
