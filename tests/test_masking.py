"""What people do not see: what stands under a sensitive key, and the rest of what is large."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db.models import JSONField, Value
from django.db.models.functions import Cast
from hypothesis import given
from hypothesis import strategies as st

from jobs import job, stats
from jobs.models import Job
from jobs.stats import beginnings, masking
from jobs.stats.excerpts import MOST_CHARS
from jobs.stats.masking import MASK
from tests.jobs import echo, noop
from tests.registering import own_registry

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    "key", ["password", "DB_PASSWORD", "apiKey", "API-Key", "x-api_key", "access token", "Authorization", "cardNumber"]
)
def test_a_sensitive_key_is_known_in_every_spelling(key: str) -> None:
    assert stats.masked({key: "x", "other": 1}) == {key: MASK, "other": 1}


@pytest.mark.parametrize("key", ["user_id", "path", "name", "keyboard", ""])
def test_other_keys_are_shown(key: str) -> None:
    assert not masking.is_sensitive(key)


def test_what_is_nested_is_masked_whole() -> None:
    value = {"a": [{"secret": {"b": [1]}}, {"c": {"token": None}}]}

    assert stats.masked(value) == {"a": [{"secret": MASK}, {"c": {"token": MASK}}]}


def test_the_setting_says_what_is_masked(settings: Any) -> None:
    settings.JOBS = {"MASKED_KEYS": ["iban"]}

    assert stats.masked({"IBAN": "DE1", "password": "x"}) == {"IBAN": MASK, "password": "x"}


def test_positional_arguments_go_by_the_names_of_the_handler() -> None:
    with own_registry():

        @job("login", takes_context=True)
        def login(ctx: object, user: str, password: str, *tokens: str) -> None: ...

        assert stats.masked_args("login", ["ada", "hunter2", "t1", "t2"]) == ["ada", MASK, MASK, MASK]
        assert stats.masked_args("login", ["ada"]) == ["ada"]


def test_positional_arguments_of_an_unknown_kind_are_masked_inside_only() -> None:
    assert stats.masked_args("unheard-of", ["x", {"password": "y"}]) == ["x", {"password": MASK}]


@pytest.mark.once
@given(value=JSON)
def test_a_whole_text_is_read_as_it_is(value: Any) -> None:
    assert beginnings.parsed(json.dumps([value])) == [value]


@pytest.mark.once
@given(value=JSON, data=st.data())
def test_every_beginning_can_be_read(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    at = data.draw(st.integers(min_value=0, max_value=len(text)))

    beginnings.parsed(text[:at])


@pytest.mark.parametrize(
    ("beginning", "value"),
    [
        ("", "…"),
        ("12", "…"),
        ('"ab', "ab…"),
        ('"ab\\', "ab…"),
        ('"ab\\\\', "ab\\…"),
        ('"ab\\u00', "ab…"),
        ("[1, 2", [1, "…", "…"]),
        ('{"a": 1, "b', {"a": 1, "b…": "…", "…": "…"}),
        ('{"a": {"b": [tr', {"a": {"b": ["…", "…"], "…": "…"}, "…": "…"}),
    ],
)
def test_where_it_was_cut_there_are_dots(beginning: str, value: Any) -> None:
    assert beginnings.parsed(beginning) == value


@pytest.mark.django_db
def test_the_documents_of_a_job_are_those_it_has() -> None:
    job = noop.using(metadata={"by": "ada"}).enqueue(1, password="hunter2")

    args, payload, metadata = stats.documents(job)

    assert (args.name, args.value, args.is_masked, args.is_cut) == ("args", [1], False, False)
    assert (payload.name, payload.value, payload.is_masked) == ("payload", {"password": MASK}, True)
    assert metadata.value == {"by": "ada"}
    assert stats.documents(job, unmasked=True)[1].value == {"password": "hunter2"}


@pytest.mark.django_db
def test_a_large_document_is_cut_by_the_database_and_still_masked() -> None:
    job = echo.enqueue(value=[{"password": "hunter2"}, "x" * 100_000, "end"])

    (document,) = stats.documents(job)

    assert document.is_cut
    assert document.chars > 100_000
    assert document.value["value"][0] == {"password": MASK}
    assert len(document.value["value"][1]) < MOST_CHARS
    assert "end" not in document.value["value"]


@pytest.mark.django_db
def test_what_is_nested_beyond_reading_is_not_shown() -> None:
    job = noop.enqueue()
    deep = f'[{"[" * 900}{"]" * 900}, "{"x" * 20_000}"]'
    Job.objects.update(result=Cast(Value(deep), JSONField()))

    assert [document.value for document in stats.documents(job)] == ["…"]


@pytest.mark.django_db
def test_a_job_that_is_gone_has_no_documents() -> None:
    job = noop.enqueue(1)
    Job.objects.all()._raw_delete("default")  # type: ignore[attr-defined]

    assert stats.documents(job) == []
