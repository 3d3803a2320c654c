"""What may be stored as arguments, and how results and errors are made storable."""

from __future__ import annotations

import json
import math
import os
import uuid
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

from jobs import payload
from jobs.exceptions import InvalidJob
from jobs.models import Job
from jobs.payload import MAX_DEPTH, check, storable_result, storable_text
from tests.jobs import echo

MANY = 100_000


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
plain = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.uuids(),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers() | st.floats(), inner)
    ),
    max_leaves=20,
)


def as_json_has_it(value: Any) -> Any:
    """Return what JSON makes of tuples and of whole numbers as keys."""
    if isinstance(value, list | tuple):
        return [as_json_has_it(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_json_has_it(item) for key, item in value.items()}
    return value


def has_no_surprise(text: str) -> bool:
    return "\\u0000" not in text.replace("\\\\", "") and text.encode().decode() == text


@given(plain)
def test_plain_values_are_accepted_and_come_back_equal(value: Any) -> None:
    assert json.loads(check(value, "payload", max_bytes=MANY)) == value


@given(anything)
def test_whatever_is_accepted_comes_back_equal(value: Any) -> None:
    try:
        text = check(value, "payload", max_bytes=MANY)
    except InvalidJob:
        return

    assert json.loads(text) == as_json_has_it(value)
    assert has_no_surprise(text)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(2**70, id="beyond 64 bits"),
        pytest.param(-(2**70), id="beyond 64 bits, negative"),
        pytest.param(0.1, id="float"),
        pytest.param(5e-324, id="least float"),
        pytest.param(1.7976931348623157e308, id="greatest float"),
        pytest.param(1e16, id="float that is a whole number"),
        pytest.param(-1e23, id="float that no whole number equals"),
        pytest.param('1e+23 "1e+23" \\', id="looks like a float"),
        pytest.param("🐟 ünï", id="not ASCII"),
        pytest.param("\\u0000 \\x00", id="looks like NUL"),
        pytest.param("2026-01-01", id="looks like a date"),
        pytest.param("</script><img src=x onerror=alert(1)>", id="html"),
        pytest.param("%s %(rows)s {}", id="looks like parameters"),
        pytest.param({"": {"a.b": [None, True, []]}}, id="nested"),
        pytest.param(mark_safe("<b>"), id="safe string"),
    ],
)
@pytest.mark.django_db
def test_values_come_back_from_the_database_as_they_went_in(value: Any) -> None:
    job = echo.enqueue(value)

    (arg,) = Job.objects.get(pk=job.pk).args
    assert (arg, type(arg)) == (value, type(json.loads(json.dumps(value))))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            math.nan, r"payload\['x'\] is nan, which JSON has no number for: pass None or a string\.", id="nan"
        ),
        pytest.param([1, [math.inf]], r"payload\['x'\]\[1\]\[0\] is inf", id="infinity"),
        pytest.param(
            "a\x00b", r"payload\['x'\] contains a NUL character, which PostgreSQL cannot store: remove it\.", id="nul"
        ),
        pytest.param(
            "\ud800",
            r"payload\['x'\] contains a lone surrogate \('\\ud800'\), which UTF-8 cannot encode",
            id="surrogate",
        ),
        pytest.param(os.fsdecode(b"\xff"), r"payload\['x'\] contains a lone surrogate \('\\udcff'\)", id="file name"),
        pytest.param({"a\x00": 1}, r"payload\['x'\] key 'a\\x00' contains a NUL", id="nul in a key"),
        pytest.param({"\ud800": 1}, r"payload\['x'\] key '\\ud800' contains a lone surrogate", id="surrogate in a key"),
        pytest.param(
            {1.5: 1}, r"payload\['x'\] has the key 1\.5: use strings \(whole numbers become", id="float as key"
        ),
        pytest.param({True: 1}, r"payload\['x'\] has the key True", id="boolean as key"),
        pytest.param({None: 1}, r"payload\['x'\] has the key None", id="None as key"),
        pytest.param({(1, 2): 1}, r"payload\['x'\] has the key \(1, 2\)", id="tuple as key"),
        pytest.param({Level.LOW: 1}, r"payload\['x'\] has the key <Level.LOW: 1>", id="enum as key"),
        pytest.param(
            {1: "a", "1": "b"}, r"payload\['x'\] has two keys that are '1' in JSON", id="keys that would merge"
        ),
        pytest.param(Colour.RED, r"payload\['x'\] is <Colour.RED: 'red'>: pass its \.value\.", id="enum"),
        pytest.param(Level.LOW, r"payload\['x'\] is <Level.LOW: 1>: pass its \.value\.", id="int enum"),
        pytest.param(Job.State.DEAD, r"payload\['x'\] is State.DEAD: pass its \.value\.", id="text choices"),
        pytest.param(datetime(2026, 1, 1), r"payload\['x'\] is a datetime, which JSON cannot hold", id="datetime"),  # noqa: DTZ001
        pytest.param([{"a": date(2026, 1, 1)}], r"payload\['x'\]\[0\]\['a'\] is a date", id="date"),
        pytest.param(uuid.uuid4(), r"payload\['x'\] is a UUID", id="uuid"),
        pytest.param(Decimal("1.10"), r"payload\['x'\] is a Decimal", id="decimal"),
        pytest.param(b"bytes", r"payload\['x'\] is a bytes", id="bytes"),
        pytest.param({1, 2}, r"payload\['x'\] is a set", id="set"),
        pytest.param(Group(name="g"), r"payload\['x'\] is a Group", id="model"),
        pytest.param(lazystr("later"), r"payload\['x'\] is a __proxy__", id="lazy string"),
        pytest.param(gettext_lazy("job"), r"payload\['x'\] is a __proxy__", id="translation"),
        pytest.param(object(), r"payload\['x'\] is a object", id="object"),
        pytest.param(nested(MAX_DEPTH), r"… is nested deeper than 100 levels: store it elsewhere", id="too deep"),
        pytest.param(nested(100_000), r"… is nested deeper than 100 levels", id="far too deep"),
        pytest.param(endless(), r"… is nested deeper than 100 levels", id="contains itself"),
        pytest.param(10**5000, r"payload cannot be written as JSON: Exceeds the limit", id="number of 5,000 digits"),
    ],
)
def test_what_json_cannot_keep_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(InvalidJob, match=message):
        check({"x": value}, "payload", max_bytes=MANY)


def test_depth_is_allowed_to_the_limit() -> None:
    assert json.loads(check(nested(MAX_DEPTH), "args", max_bytes=MANY)) == nested(MAX_DEPTH)


def test_tuples_become_lists_and_whole_number_keys_become_strings() -> None:
    assert check({1: (2, 3)}, "payload", max_bytes=MANY) == '{"1":[2,3]}'


def test_size_is_counted_in_bytes() -> None:
    assert check("é" * 4, "args", max_bytes=10) == '"éééé"'
    with pytest.raises(InvalidJob, match=r"args is 12 bytes of JSON; the limit is 10 \(JOBS\['PAYLOAD_MAX_BYTES'\]\)"):
        check("é" * 5, "args", max_bytes=10)


@given(st.text())
def test_any_text_becomes_storable(text: str) -> None:
    stored = storable_text(text, most=MANY)

    assert "\x00" not in stored
    assert stored.encode().decode() == stored


@given(texts)
def test_text_that_is_storable_stays_as_it_is(text: str) -> None:
    assert storable_text(text, most=MANY) == text


def test_bad_characters_stay_visible() -> None:
    assert storable_text("a\x00b\ud800c", most=MANY) == "a\\x00b\\ud800c"


@given(st.text(min_size=1), st.integers(0, 50))
def test_long_text_keeps_both_ends(text: str, most: int) -> None:
    stored = storable_text("<" + "x" * most + text + ">", most=most)

    half = most // 2
    assert stored.startswith("<"[:half])
    assert stored.endswith(">"[:half])
    assert f"… {len(text) + 2 + most - 2 * half:,} characters cut …" in stored


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_text_can_be_cut_to_almost_nothing(most: int) -> None:
    assert storable_text("x" * 5000, most=most).count("x") == most // 2 * 2


@given(anything)
def test_a_result_becomes_storable_or_says_why_not(value: Any) -> None:
    try:
        text = storable_result(value, max_bytes=MANY)
    except TypeError:
        return

    assert has_no_surprise(text)
    json.loads(text, parse_constant=pytest.fail)


@given(plain)
def test_a_result_that_is_storable_stays_as_it_is(value: Any) -> None:
    assert json.loads(storable_result(value, max_bytes=MANY)) == value


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        pytest.param(math.nan, "nan", id="nan"),
        pytest.param([math.inf, {"a": (-math.inf,)}], ["inf", {"a": ["-inf"]}], id="infinities"),
        pytest.param({"a\x00": "b\x00"}, {"a\\x00": "b\\x00"}, id="nul"),
        pytest.param({"\ud800": ["\udfff"]}, {"\\ud800": ["\\udfff"]}, id="surrogates"),
        pytest.param("\\u0000", "\\u0000", id="looks like nul"),
        pytest.param({1: math.nan, None: 1}, {"1": "nan", "null": 1}, id="odd keys"),
        pytest.param("🐟", "🐟", id="not ASCII"),
        pytest.param(Level.LOW, 1, id="int enum"),
    ],
)
def test_results_are_changed_where_they_must_be(value: Any, stored: Any) -> None:
    assert json.loads(storable_result(value, max_bytes=MANY)) == stored


@pytest.mark.parametrize(
    "value",
    [{1, 2}, b"x", object(), date(2026, 1, 1), {"a": Decimal(1)}],
    ids=lambda value: type(value).__name__,
)
def test_results_that_json_cannot_hold_raise(value: Any) -> None:
    with pytest.raises(TypeError):
        storable_result(value, max_bytes=MANY)


def test_a_large_result_becomes_a_note_of_its_size() -> None:
    stored = json.loads(storable_result("x" * 100, max_bytes=50))

    assert stored == {"omitted": "The result is 102 bytes of JSON; the limit is 50."}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(nested(MAX_DEPTH + 1), id="one too many"),
        pytest.param({"a": (nested(MAX_DEPTH - 1), [])}, id="mixed"),
        pytest.param(nested(100_000), id="more than Python can write"),
        pytest.param([math.nan, nested(900)], id="with what has to be changed"),
        pytest.param(endless(), id="contains itself"),
    ],
)
def test_a_deep_result_becomes_a_note_of_its_depth(value: Any) -> None:
    stored = json.loads(storable_result(value, max_bytes=MANY * 10))

    assert stored == {"omitted": "The result is nested deeper than 100 levels."}


def test_a_result_as_deep_as_arguments_may_be_is_kept() -> None:
    value = nested(MAX_DEPTH)

    assert json.loads(storable_result(value, max_bytes=MANY)) == value


def test_dumps_refuses_what_is_not_json() -> None:
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        payload.dumps(math.nan)
