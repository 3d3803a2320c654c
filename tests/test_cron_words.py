"""Cron expressions in words: true ones, or none."""

from __future__ import annotations

import sys
from importlib import reload
from typing import Any

import pytest
from django.utils import translation

from jobs import cron
from jobs.cron import words
from jobs.exceptions import InvalidCron

pytestmark = pytest.mark.once

needs_descriptor = pytest.mark.skipif(words.cron_descriptor is None, reason="cron-descriptor is optional")

TRUE = {
    "0 3 * * *": "At 03:00, every day",
    "*/15 * * * *": "Every 15 minutes",
    "@daily": "At 00:00, every day",
    "0 6 * * 1-5": "At 06:00, Monday through Friday",
    "0 9 * * mon#2": "At 09:00, on the second Monday of the month",
    "0 0 l * *": "At 00:00, on the last day of the month",
    "0 0 * * l5": "At 00:00, on the last Friday of the month",
    "0 6 1 jan,jul *": "At 06:00, on day 1 of the month, only in January and July",
}
ONLY_BY_NEW_ONES = {
    "0 9-17 * * *": "At 0 minutes past the hour, between 09:00 and 17:59, every day",
    "0 0 13 * fri": "At 00:00, on day 13 of the month, or on Friday",
    "0 0 1,15 * 1,fri": "At 00:00, on day 1 and 15 of the month, or on Monday and Friday",
}
# What the words of another dialect would say wrongly: each of these means something else here.
UNTRUE = [
    "*/40 * * * *",
    "0 */7 * * *",
    "0 16 */2 * SAT",
    "0 0 1-7 * */7",
    "*,5 * * * *",
    "0 0 5/5 * *",
    "0 0 1 * MON-FRI",
    "0 0 1 * MON#2",
    "0 0 1 * l5",
    "0 0 15,l * *",
    "0 0 L,15 * *",
    "0 9-11,15 * * *",
]


@needs_descriptor
@pytest.mark.parametrize("expression", TRUE)
def test_an_expression_is_said_in_words(expression: str) -> None:
    assert cron.in_words(expression) == TRUE[expression]


@needs_descriptor
@pytest.mark.parametrize("expression", ONLY_BY_NEW_ONES)
def test_what_an_old_library_says_wrongly_stays_as_it_is_there(expression: str) -> None:
    said = expression if words.cron_descriptor.__version__.startswith("1.") else ONLY_BY_NEW_ONES[expression]

    assert cron.in_words(expression) == said


@pytest.mark.parametrize("expression", UNTRUE)
def test_what_cannot_be_said_truly_stays_as_it_is(expression: str) -> None:
    assert cron.in_words(expression) == expression


@needs_descriptor
def test_words_are_in_the_present_language_days_and_months_too() -> None:
    with translation.override("de"):
        assert cron.in_words("0 6 1 jan *") == "Um 06:00, am 1 Tag des Monats, nur im Januar"
        assert cron.in_words("0 6 * * mon") == "Um 06:00, nur am Montag"


@needs_descriptor
@pytest.mark.parametrize(
    ("language", "start"), [("de-at", "Um"), ("pt-br", "Às"), ("tlh", "At"), (None, "At")], ids=str
)
def test_the_nearest_language_is_taken(language: Any, start: str) -> None:
    with translation.override(language):
        assert cron.in_words("0 6 * * mon").startswith(start)


@needs_descriptor
def test_what_the_library_refuses_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, *args: Any) -> None:
            raise words.cron_descriptor.FormatException("no")

    monkeypatch.setattr(words.cron_descriptor, "ExpressionDescriptor", Refusing)

    assert cron.in_words("7 7 7 7 *") == "7 7 7 7 *"


def test_without_the_library_an_expression_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cron_descriptor", None)
    try:
        assert reload(words).in_words("  0 3   * * * ") == "0 3 * * *"
    finally:
        monkeypatch.undo()
        reload(words)


def test_a_bad_expression_is_refused() -> None:
    with pytest.raises(InvalidCron, match="out of range"):
        cron.in_words("61 * * * *")


def test_an_interval_is_said_in_words() -> None:
    assert cron.interval_in_words(5400) == "Every 1 h 30 min"
