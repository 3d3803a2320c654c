"""How long a failed job waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import Backoff
from jobs.exceptions import InvalidJob
from jobs.retry import MAX_DELAY_SECONDS, seconds

YEAR = timedelta(days=366)

backoffs = st.builds(
    Backoff,
    base=st.floats(1, MAX_DELAY_SECONDS),
    cap=st.floats(0, MAX_DELAY_SECONDS),
    jitter=st.floats(0, 1),
)
attempts = st.integers(0, 2**40)
chances = st.floats(0, 1)


@pytest.mark.parametrize(
    ("attempt", "delay"),
    [(1, 2), (2, 4), (3, 8), (8, 256), (9, 300), (10, 300), (32_767, 300)],
)
def test_the_default_doubles_up_to_five_minutes(attempt: int, delay: float) -> None:
    assert Backoff().delay(attempt, chance=0) == delay


@pytest.mark.parametrize(("chance", "delay"), [(0, 4), (0.5, 4.6), (1, 5.2)])
def test_jitter_adds_up_to_its_share(chance: float, delay: float) -> None:
    assert Backoff().delay(2, chance=chance) == pytest.approx(delay)


@pytest.mark.parametrize(
    ("base", "attempt"),
    [
        pytest.param(2.0, 47, id="the most a timedelta holds"),
        pytest.param(2.0, 1017, id="more than a delay can be as a float with a factor of 300"),
        pytest.param(2.0, 1075, id="more than a float holds"),
        pytest.param(10.0, 43, id="steeper"),
        pytest.param(1e6, 10**9, id="steepest, and for ever"),
    ],
)
def test_the_power_never_overflows(base: float, attempt: int) -> None:
    assert Backoff(base=base, cap=3600, jitter=0).delay(attempt, chance=1) == 3600


@given(backoffs, attempts, chances)
def test_a_delay_is_never_less_than_nothing_nor_more_than_the_cap_with_jitter(
    backoff: Backoff, attempt: int, chance: float
) -> None:
    assert 0 <= backoff.delay(attempt, chance=chance) <= backoff.cap * (1 + backoff.jitter)


@given(backoffs, attempts, st.integers(0, 100), chances)
def test_a_later_attempt_never_waits_less(backoff: Backoff, attempt: int, more: int, chance: float) -> None:
    assert backoff.delay(attempt, chance=chance) <= backoff.delay(attempt + more, chance=chance)


@given(backoffs, attempts, chances, chances)
def test_a_greater_chance_never_waits_less(backoff: Backoff, attempt: int, one: float, other: float) -> None:
    less, more = sorted([one, other])

    assert backoff.delay(attempt, chance=less) <= backoff.delay(attempt, chance=more)


@given(st.floats(0, MAX_DELAY_SECONDS), st.integers(1, 2**40))
def test_a_number_of_seconds_is_the_backoff_that_always_waits_that_long(constant: float, attempt: int) -> None:
    assert Backoff.of(constant).delay(attempt, chance=0) == constant


def test_a_timedelta_is_as_good_as_seconds() -> None:
    assert Backoff.of(timedelta(minutes=2)) == Backoff.of(120)


def test_a_backoff_stands_for_itself() -> None:
    backoff = Backoff(base=3)

    assert Backoff.of(backoff) is backoff


def test_a_cap_of_nothing_retries_at_once() -> None:
    assert Backoff(cap=0).delay(5, chance=1) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"base": 0.5}, r"Backoff base=0.5 is out of range: give 1 to 3.16224e\+07\."),
        ({"base": float("nan")}, "Backoff base=nan"),
        ({"base": float("inf")}, "Backoff base=inf"),
        ({"base": "2"}, "Backoff base='2'"),
        ({"cap": -1}, "Backoff cap=-1"),
        ({"cap": float("inf")}, "Backoff cap=inf"),
        ({"cap": True}, "Backoff cap=True"),
        ({"jitter": 1.1}, r"Backoff jitter=1.1 is out of range: give 0 to 1\."),
        ({"jitter": None}, "Backoff jitter=None"),
    ],
    ids=str,
)
def test_a_backoff_out_of_range_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidJob, match=message):
        Backoff(**values)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0.0), (1.5, 1.5), (timedelta(milliseconds=1), 0.001), (YEAR, MAX_DELAY_SECONDS)],
    ids=str,
)
def test_a_duration_is_a_number_or_a_timedelta(value: Any, expected: float) -> None:
    assert seconds(value, "delay") == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-5, r"delay=-5 is out of range: give 0 to 3.16224e\+07 seconds\."),
        (timedelta(seconds=-5), "delay=-5.0 is out of range"),
        (YEAR + timedelta(seconds=1), "is out of range"),
        (10**400, "is out of range"),
        (float("nan"), "delay=nan is out of range"),
        (float("inf"), "delay=inf is out of range"),
        (True, "delay=True is not a duration: give seconds as a number, or a timedelta"),
        ("5", "delay='5' is not a duration"),
        (None, "delay=None is not a duration"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_anything_else_is_refused_by_name(value: Any, message: str) -> None:
    with pytest.raises(InvalidJob, match=message):
        seconds(value, "delay")
