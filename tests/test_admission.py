"""What an enqueue accepts, and that everything else is refused by name with nothing written."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import override_settings

from jobs import Backoff, JobSpec, job
from jobs.admission import admit, stored
from jobs.exceptions import InvalidJob, UnknownKind
from jobs.models import Job
from tests.jobs import echo, noop
from tests.registering import own_registry

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
NAIVE_NOON = datetime(2026, 1, 5, 12)  # noqa: DTZ001 (what a site without time zones passes)


@pytest.fixture(autouse=True)
def forget_handlers() -> Iterator[None]:
    with own_registry():
        yield


def values_of(spec: JobSpec, vendor: str = "postgresql") -> dict[str, Any]:
    """Return the columns of an admitted spec, having compared them with its text."""
    candidate = admit(spec, vendor=vendor)
    assert json.loads(candidate.whole_text) == json.loads(json.dumps(candidate.values))
    return dict(candidate.values)


def test_a_spec_that_says_nothing_gets_the_usual_values() -> None:
    assert values_of(JobSpec("noop")) == {
        "kind": "noop",
        "args": [],
        "payload": {},
        "queue": "default",
        "priority": 0,
        "max_attempts": 8,
        "backoff_base": 2.0,
        "backoff_cap": 300.0,
        "backoff_jitter": 0.3,
        "metadata": {},
    }


def test_a_handler_decides_what_is_usual_for_its_jobs() -> None:
    job("test", queue="mail", priority=5, max_attempts=3, timeout=timedelta(minutes=1), backoff=60)(lambda: None)

    values = values_of(JobSpec("test"))

    assert (values["queue"], values["priority"], values["max_attempts"], values["timeout"]) == ("mail", 5, 3, 60.0)
    assert (values["backoff_base"], values["backoff_cap"]) == (60.0, 60.0)


def test_a_backoff_function_is_not_stored() -> None:
    job("test", backoff=lambda attempt, error: 1)(lambda: None)

    assert values_of(JobSpec("test"))["backoff_cap"] == 300.0


@override_settings(JOBS={"MAX_ATTEMPTS": 2})
def test_the_settings_decide_the_rest() -> None:
    assert values_of(JobSpec("noop"))["max_attempts"] == 2


def test_a_spec_overrules_its_handler() -> None:
    job("test", queue="mail", priority=5, max_attempts=3, timeout=1, backoff=60)(lambda: None)

    values = values_of(
        JobSpec("test", queue="slow", priority=0, max_attempts=1, timeout=2, backoff=Backoff(base=3, cap=9, jitter=0))
    )

    assert (values["queue"], values["priority"], values["max_attempts"], values["timeout"]) == ("slow", 0, 1, 2.0)
    assert (values["backoff_base"], values["backoff_cap"], values["backoff_jitter"]) == (3, 9, 0)


def test_arguments_metadata_and_key_are_kept() -> None:
    values = values_of(JobSpec("noop", {"a": 1}, args=(1, (2,)), metadata={"by": "x"}, unique_key="k"))

    assert (values["args"], values["payload"]) == ([1, (2,)], {"a": 1})
    assert (values["metadata"], values["unique_key"]) == ({"by": "x"}, "k")


def test_a_job_of_an_alias_is_stored_under_the_present_kind() -> None:
    job("new", aliases=["old"])(lambda: None)

    assert values_of(JobSpec("old"))["kind"] == "new"


@pytest.mark.parametrize(
    ("delay", "seconds"), [(30, 30.0), (0.5, 0.5), (timedelta(minutes=1), 60.0), (timedelta(days=366), 366 * 86_400.0)]
)
def test_a_delay_is_seconds(delay: Any, seconds: float) -> None:
    assert values_of(JobSpec("noop", delay=delay))["delay"] == seconds


@pytest.mark.parametrize("delay", [0, 0.0, timedelta(0)], ids=repr)
def test_no_delay_is_none(delay: Any) -> None:
    assert "delay" not in values_of(JobSpec("noop", delay=delay))


@pytest.mark.parametrize(
    ("moment", "vendor", "text"),
    [
        pytest.param(NOON, "postgresql", "2026-01-05T12:00:00+00:00", id="utc"),
        pytest.param(NOON, "sqlite", "2026-01-05 12:00:00", id="utc on sqlite"),
        pytest.param(
            datetime(2026, 6, 1, 12, tzinfo=timezone(timedelta(hours=1))),
            "sqlite",
            "2026-06-01 11:00:00",
            id="+01:00",
        ),
        pytest.param(NOON.replace(microsecond=1), "sqlite", "2026-01-05 12:00:00.000001", id="microseconds"),
    ],
)
def test_a_moment_is_written_as_its_database_compares_it(moment: datetime, vendor: str, text: str) -> None:
    values = values_of(JobSpec("noop", run_at=moment, expires_at=moment), vendor)

    assert (values["run_at"], values["expires_at"]) == (text, text)


@override_settings(USE_TZ=False, TIME_ZONE="Asia/Shanghai")
@pytest.mark.parametrize(
    ("vendor", "text"), [("postgresql", "2026-01-05T12:00:00+08:00"), ("sqlite", "2026-01-05 04:00:00")]
)
def test_without_use_tz_a_naive_moment_is_in_the_sites_zone(vendor: str, text: str) -> None:
    assert values_of(JobSpec("noop", run_at=NAIVE_NOON), vendor)["run_at"] == text


@override_settings(USE_TZ=False, TIME_ZONE="Asia/Shanghai")
def test_without_use_tz_naive_and_aware_moments_can_be_compared() -> None:
    with pytest.raises(InvalidJob, match=r"expires_at=.* is before run_at="):
        values_of(JobSpec("noop", run_at=NAIVE_NOON, expires_at=NOON - timedelta(hours=8) - SECOND))

    assert values_of(JobSpec("noop", run_at=NAIVE_NOON, expires_at=NOON))["expires_at"] == NOON.isoformat()


@pytest.mark.parametrize(
    ("value", "vendor"),
    [
        pytest.param("2026-01-05 12:00:00.000000", "sqlite", id="text"),
        pytest.param(NAIVE_NOON, "sqlite", id="naive"),
        pytest.param("2026-01-05T13:00:00+01:00", "postgresql", id="text with zone"),
        pytest.param(NOON, "postgresql", id="aware"),
    ],
)
def test_a_stored_moment_is_aware_under_use_tz(value: Any, vendor: str) -> None:
    assert stored(value, vendor=vendor) == NOON


@override_settings(USE_TZ=False, TIME_ZONE="Asia/Shanghai")
@pytest.mark.parametrize(
    ("value", "vendor"),
    [
        pytest.param("2026-01-05 04:00:00", "sqlite", id="text"),
        pytest.param(datetime(2026, 1, 5, 4), "sqlite", id="naive, in UTC"),  # noqa: DTZ001
        pytest.param("2026-01-05T12:00:00+08:00", "postgresql", id="text with zone"),
        pytest.param(NAIVE_NOON, "postgresql", id="naive, in the zone of the session"),
    ],
)
def test_a_stored_moment_is_local_without_use_tz(value: Any, vendor: str) -> None:
    assert stored(value, vendor=vendor) == NAIVE_NOON


def test_no_moment_is_none() -> None:
    assert stored(None, vendor="sqlite") is None


BAD = [
    pytest.param({"kind": "nobody"}, UnknownKind, "No handler is registered for kind 'nobody'", id="kind"),
    pytest.param({"kind": values_of}, UnknownKind, "'values_of' is not registered", id="function"),
    pytest.param({"kind": None}, UnknownKind, "No handler is registered for kind None", id="no kind"),
    pytest.param({"kind": "os.system"}, UnknownKind, "No handler is registered for kind 'os.system'", id="dotted path"),
    pytest.param(
        {"payload": {"value": 1, "x": 1}},
        InvalidJob,
        "do not fit 'echo': got an unexpected keyword",
        id="unknown argument",
    ),
    pytest.param({"payload": {}}, InvalidJob, "do not fit 'echo': missing a required argument: 'value'", id="missing"),
    pytest.param({"args": [1, 2]}, InvalidJob, "do not fit 'echo': too many positional arguments", id="too many"),
    pytest.param({"args": "ab"}, InvalidJob, "args is a str: give a list or tuple", id="args text"),
    pytest.param({"args": {1}}, InvalidJob, "args is a set: give a list or tuple", id="args set"),
    pytest.param({"args": None}, InvalidJob, "args is a NoneType", id="args none"),
    pytest.param({"payload": 7}, InvalidJob, "payload is a int: give a dictionary", id="payload number"),
    pytest.param({"payload": []}, InvalidJob, "payload is a list: give a dictionary", id="payload list"),
    pytest.param({"payload": {1: 2}}, InvalidJob, "payload has the key 1: it holds keyword", id="payload key"),
    pytest.param({"payload": {"value": math.nan}}, InvalidJob, r"payload\['value'\] is nan", id="nan"),
    pytest.param({"args": [math.inf]}, InvalidJob, r"args\[0\] is inf", id="infinity"),
    pytest.param({"args": ["\x00"]}, InvalidJob, r"args\[0\] contains a NUL", id="NUL"),
    pytest.param({"args": ["\ud800"]}, InvalidJob, r"args\[0\] contains a lone surrogate", id="surrogate"),
    pytest.param({"args": [NOON]}, InvalidJob, r"args\[0\] is a datetime", id="datetime"),
    pytest.param({"args": [uuid.uuid4()]}, InvalidJob, r"args\[0\] is a UUID", id="uuid"),
    pytest.param({"args": [Decimal(1)]}, InvalidJob, r"args\[0\] is a Decimal", id="decimal"),
    pytest.param({"args": [Group()]}, InvalidJob, r"args\[0\] is a Group", id="model"),
    pytest.param(
        {"args": ["x" * 1_048_577]}, InvalidJob, "args is 1,048,581 bytes of JSON; the limit is", id="too large"
    ),
    pytest.param({"run_at": NAIVE_NOON}, InvalidJob, "run_at=datetime.* has no time zone", id="naive run_at"),
    pytest.param({"run_at": date(2026, 1, 1)}, InvalidJob, "run_at=datetime.date.* is not a datetime", id="date"),
    pytest.param({"run_at": "2026-01-01"}, InvalidJob, "run_at='2026-01-01' is not a datetime", id="run_at text"),
    pytest.param(
        {"run_at": datetime.max.replace(tzinfo=UTC)}, InvalidJob, "run_at=.* give a year from 1970 to", id="far"
    ),
    pytest.param({"run_at": datetime.min.replace(tzinfo=UTC)}, InvalidJob, "run_at=.* is out of range", id="long ago"),
    pytest.param({"run_at": NOON, "delay": 0}, InvalidJob, "run_at and delay are both given", id="run_at and delay"),
    pytest.param({"delay": -1}, InvalidJob, "delay=-1 is out of range: give 0 to", id="negative delay"),
    pytest.param({"delay": timedelta(seconds=-5)}, InvalidJob, "delay=-5.0 is out of range", id="negative timedelta"),
    pytest.param({"delay": timedelta.max}, InvalidJob, "delay=.* is out of range", id="endless delay"),
    pytest.param({"delay": "5"}, InvalidJob, "delay='5' is not a duration", id="delay text"),
    pytest.param(
        {"expires_at": NAIVE_NOON}, InvalidJob, "expires_at=datetime.* has no time zone", id="naive expires_at"
    ),
    pytest.param(
        {"run_at": NOON, "expires_at": NOON - SECOND}, InvalidJob, "expires_at=.* is before run_at=", id="expired"
    ),
    pytest.param({"queue": ""}, InvalidJob, "queue='' is no queue name", id="empty queue"),
    pytest.param({"queue": "x" * 101}, InvalidJob, "queue='x+' is no queue name", id="long queue"),
    pytest.param({"queue": "a,b"}, InvalidJob, "queue='a,b' is no queue name", id="comma in a queue"),
    pytest.param({"queue": "a\x00"}, InvalidJob, "queue='a.x00' is no queue name", id="NUL in a queue"),
    pytest.param({"priority": 101}, InvalidJob, "priority=101 is out of range: give -100 to 100", id="priority"),
    pytest.param({"priority": -101}, InvalidJob, "priority=-101 is out of range", id="negative priority"),
    pytest.param({"priority": 1.5}, InvalidJob, "priority=1.5 is out of range", id="fractional priority"),
    pytest.param({"priority": True}, InvalidJob, "priority=True is out of range", id="boolean priority"),
    pytest.param({"max_attempts": 0}, InvalidJob, "max_attempts=0 is out of range: give 1 to 32767", id="no attempts"),
    pytest.param({"max_attempts": -1}, InvalidJob, "max_attempts=-1 is out of range", id="negative attempts"),
    pytest.param({"max_attempts": 2**31}, InvalidJob, "max_attempts=2147483648 is out of range", id="many attempts"),
    pytest.param({"max_attempts": "3"}, InvalidJob, "max_attempts='3' is out of range", id="attempts text"),
    pytest.param({"timeout": 0}, InvalidJob, "timeout=0 is out of range: give 0.001 to", id="no timeout"),
    pytest.param({"timeout": math.inf}, InvalidJob, "timeout=inf is out of range", id="endless timeout"),
    pytest.param({"backoff": -1}, InvalidJob, "backoff=-1 is out of range", id="negative backoff"),
    pytest.param({"backoff": print}, InvalidJob, "backoff cannot be a function here", id="backoff function"),
    pytest.param({"unique_key": ""}, InvalidJob, "unique_key='' is no key: give a text of 1 to 250", id="empty key"),
    pytest.param({"unique_key": "x" * 251}, InvalidJob, "unique_key='x+' is no key", id="long key"),
    pytest.param({"unique_key": 5}, InvalidJob, "unique_key=5 is no key", id="number as key"),
    pytest.param({"unique_key": "a\x00"}, InvalidJob, "unique_key contains a NUL", id="NUL in a key"),
    pytest.param(
        {"on_conflict": "ignore"}, InvalidJob, "on_conflict='ignore' is not known: give 'skip'", id="on_conflict"
    ),
    pytest.param(
        {"on_conflict": "raise"}, InvalidJob, "on_conflict='raise' is given without a unique_key", id="no key"
    ),
    pytest.param({"metadata": []}, InvalidJob, "metadata is a list: give a dictionary", id="metadata list"),
    pytest.param({"metadata": {"x": b""}}, InvalidJob, r"metadata\['x'\] is a bytes", id="metadata bytes"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("bad", "error", "message"), BAD)
def test_a_bad_field_is_refused_by_name_and_nothing_is_written(bad: dict[str, Any], error: type, message: str) -> None:
    spec = JobSpec(**({"kind": "echo", "payload": None if "args" in bad else {"value": 1}} | bad))

    with pytest.raises(error, match=message):
        Job.objects.enqueue(spec)
    with pytest.raises(error, match=message):
        Job.objects.enqueue_many([JobSpec("noop"), spec])

    assert not Job.objects.exists()


@pytest.mark.parametrize("spec", [None, "noop", noop, ("noop", {})], ids=["None", "text", "definition", "tuple"])
def test_what_is_no_spec_is_refused_with_its_number(spec: Any) -> None:
    with pytest.raises(InvalidJob, match=r"specs\[1\]: .* is no JobSpec: use JobSpec\(kind, payload\) or handler.spec"):
        Job.objects.enqueue_many([noop.spec(), spec])


def test_a_refusal_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="missing a required argument"):
        admit(echo.using(queue="mail").spec(), vendor="postgresql")


@override_settings(JOBS={"PAYLOAD_MAX_BYTES": 20})
def test_the_limit_of_arguments_is_a_setting() -> None:
    values_of(JobSpec("noop", args=["x" * 16]))
    with pytest.raises(InvalidJob, match="args is 21 bytes of JSON; the limit is 20"):
        admit(JobSpec("noop", args=["x" * 17]), vendor="postgresql")


@override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True})
def test_a_producer_without_the_handlers_may_enqueue_any_kind() -> None:
    values = values_of(JobSpec("elsewhere", {"anything": 1}))

    assert (values["kind"], values["payload"], values["max_attempts"]) == ("elsewhere", {"anything": 1}, 8)


@override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True})
def test_it_still_checks_the_kinds_it_knows() -> None:
    with pytest.raises(InvalidJob, match="do not fit 'echo'"):
        admit(JobSpec("echo"), vendor="postgresql")


@override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True})
@pytest.mark.parametrize("kind", ["", "x" * 201, "a\x00b", "\ud800"], ids=["empty", "long", "NUL", "surrogate"])
def test_a_kind_must_be_storable_all_the_same(kind: str) -> None:
    with pytest.raises(InvalidJob, match="is no name of a kind: use 1 to 200 printable characters"):
        admit(JobSpec(kind), vendor="postgresql")


@override_settings(JOBS={"ALLOW_UNKNOWN_KINDS": True})
def test_a_function_that_is_not_registered_is_refused_all_the_same() -> None:
    with pytest.raises(UnknownKind, match="'values_of' is not registered: decorate it"):
        admit(JobSpec(values_of), vendor="postgresql")  # type: ignore[arg-type]


def test_a_definition_needs_no_looking_up() -> None:
    assert admit(noop.spec(), vendor="postgresql").values["kind"] == "noop"
