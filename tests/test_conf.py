"""The JOBS setting: defaults, limits, and that it is read when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.signals import setting_changed
from django.test import override_settings

from jobs.conf import DAY, RETENTION, Settings, problems, settings
from jobs.exceptions import InvalidSettings

LIMITED = [known for known in fields(Settings) if "least" in known.metadata]


@pytest.fixture(autouse=True)
def without_jobs() -> Iterator[None]:
    with override_settings():
        del django_settings.JOBS
        setting_changed.send(Settings, setting="JOBS", enter=True)
        yield
    setting_changed.send(Settings, setting="JOBS", enter=False)


def test_without_the_setting_the_defaults_hold() -> None:
    assert (settings.lease_seconds, settings.heartbeat_seconds, settings.poll_seconds) == (30, 10, 0.5)
    assert (settings.max_attempts, settings.timeout_seconds, settings.allow_unknown_kinds) == (8, 3600, False)
    assert settings.retention == RETENTION


def test_every_default_is_within_its_limits() -> None:
    assert list(problems({known.name.upper(): known.default for known in LIMITED})) == []


def test_every_key_says_what_it_is_for() -> None:
    assert [known.name for known in fields(Settings) if not known.metadata.get("help")] == []


def test_an_override_is_honoured_and_forgotten() -> None:
    with override_settings(JOBS={"LEASE_SECONDS": 60}):
        assert settings.lease_seconds == 60
        with override_settings(JOBS={"MAX_ATTEMPTS": 2}):
            assert (settings.lease_seconds, settings.max_attempts) == (30, 2)
        assert settings.lease_seconds == 60

    assert settings.lease_seconds == 30


@override_settings(JOBS={"LEASE_SECONDS": timedelta(minutes=1), "RETENTION": {"dead": timedelta(days=1)}})
def test_durations_may_be_timedeltas() -> None:
    assert settings.lease_seconds == 60
    assert settings.retention["dead"] == DAY


@override_settings(JOBS={"RETENTION": {"dead": None, "runs": 0}})
def test_retention_keeps_the_defaults_of_what_is_not_named() -> None:
    assert settings.retention == RETENTION | {"dead": None, "runs": 0}


@override_settings(JOBS={"LEASE_SECONDS": 0})
def test_a_bad_setting_is_an_error_when_it_is_read() -> None:
    with pytest.raises(InvalidSettings, match=r"JOBS\['LEASE_SECONDS'\] is 0: give 1 to 86400\."):
        settings.poll_seconds  # noqa: B018 (reading it is the test)


def test_an_attribute_that_is_no_setting_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="lease_minutes"):
        settings.lease_minutes  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (None, "JOBS is NoneType: make it a dictionary."),
        (["LEASE_SECONDS"], "JOBS is list: make it a dictionary."),
        ({"LEASE_SECOND": 1}, "JOBS['LEASE_SECOND'] is not a known key: did you mean 'LEASE_SECONDS'?"),
        ({"lease_seconds": 1}, "JOBS['lease_seconds'] is not a known key: did you mean 'LEASE_SECONDS'?"),
        ({"LEASE_SECONDS": "30"}, "JOBS['LEASE_SECONDS'] is '30': give seconds."),
        ({"LEASE_SECONDS": True}, "JOBS['LEASE_SECONDS'] is True: give seconds."),
        ({"LEASE_SECONDS": None}, "JOBS['LEASE_SECONDS'] is None: give seconds."),
        ({"LEASE_SECONDS": float("nan")}, "JOBS['LEASE_SECONDS'] is nan: give 1 to 86400."),
        ({"POLL_SECONDS": timedelta(0)}, "JOBS['POLL_SECONDS'] is datetime.timedelta(0): give 0.01 to 3600."),
        ({"MAX_ATTEMPTS": 0}, "JOBS['MAX_ATTEMPTS'] is 0: give 1 to 32767."),
        ({"MAX_ATTEMPTS": 2.5}, "JOBS['MAX_ATTEMPTS'] is 2.5: give a whole number."),
        ({"MAX_ATTEMPTS": timedelta(1)}, "JOBS['MAX_ATTEMPTS'] is datetime.timedelta(days=1): give a whole number."),
        ({"ALLOW_UNKNOWN_KINDS": 1}, "JOBS['ALLOW_UNKNOWN_KINDS'] is 1: give True or False."),
        (
            {"RETENTION": 7},
            "JOBS['RETENTION'] is 7: give a dictionary with any of succeeded, cancelled, dead, runs, events, workers.",
        ),
        (
            {"RETENTION": {"failed": 7}},
            "JOBS['RETENTION']['failed'] is not a known key: "
            "the keys are succeeded, cancelled, dead, runs, events, workers.",
        ),
        (
            {"MASKED_KEYS": "password"},
            "JOBS['MASKED_KEYS'] is 'password': give a list of words, or an empty one to hide nothing.",
        ),
        ({"MASKED_KEYS": ["-"]}, "JOBS['MASKED_KEYS'] has '-': give words that have a letter or a digit."),
        ({"MASKED_KEYS": [7]}, "JOBS['MASKED_KEYS'] has 7: give words that have a letter or a digit."),
    ],
    ids=str,
)
def test_each_problem_is_a_sentence_that_names_the_key(raw: Any, problem: str) -> None:
    assert list(problems(raw)) == [problem]


def test_a_key_like_no_other_gets_the_whole_list() -> None:
    (problem,) = problems({"x": 1})

    assert problem.startswith("JOBS['x'] is not a known key: the keys are LEASE_SECONDS, HEARTBEAT_SECONDS, ")


@pytest.mark.parametrize("kept", [-1, "7 days", True, float("inf"), float("nan"), timedelta.max], ids=str)
def test_retention_is_a_time_that_can_be_subtracted(kept: Any) -> None:
    (problem,) = problems({"RETENTION": {"dead": kept}})

    assert problem == (
        f"JOBS['RETENTION']['dead'] is {kept!r}: "
        "give seconds or a timedelta of up to a hundred years, or None to keep for ever."
    )


@pytest.mark.parametrize("known", LIMITED, ids=lambda known: known.name)
def test_limits_are_inclusive(known: Any) -> None:
    key, least, most = known.name.upper(), known.metadata["least"], known.metadata["most"]
    # The other of the pair, where a lease must leave room for its heartbeats.
    pair = {"LEASE_SECONDS": {"HEARTBEAT_SECONDS": 0.1}, "HEARTBEAT_SECONDS": {"LEASE_SECONDS": 86_400}}.get(key, {})

    refused = [value for value in (least - 1, least, most, most + 1) if list(problems(pair | {key: value}))]

    assert refused == [least - 1, most + 1]


@pytest.mark.parametrize(
    "raw", [{"LEASE_SECONDS": 10}, {"HEARTBEAT_SECONDS": 20}, {"LEASE_SECONDS": 3, "HEARTBEAT_SECONDS": 2}]
)
def test_a_lease_leaves_room_for_two_heartbeats_that_fail(raw: dict[str, Any]) -> None:
    (problem,) = problems(raw)

    assert problem.endswith("set the heartbeat to at most a third of the lease.")
