"""What a handler can ask of its run, and what it tells."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from django.test import override_settings

from jobs import JobContext, current
from jobs.context import enter, leave
from jobs.exceptions import CancelRequested, JobsError, LeaseLost, RunStopped, TimedOut, WorkerStopping
from tests.leasing import in_threads


def make_context(**values: Any) -> JobContext:
    usual: dict[str, Any] = {
        "job_id": 7,
        "kind": "test",
        "queue": "default",
        "attempt": 2,
        "max_attempts": 8,
        "claim_no": 5,
        "enqueued_at": datetime(2026, 1, 5, 12, tzinfo=UTC),
        "metadata": {},
        "timeout_seconds": 60,
    }
    return JobContext(**(usual | values))


def log_of(context: JobContext) -> str:
    return context.snapshot()[1]


def test_the_fencing_token_is_the_claim_number() -> None:
    assert make_context(claim_no=5).fencing_token == 5


def test_the_idempotency_key_stays_the_same_over_all_attempts() -> None:
    first, second = make_context(attempt=1, claim_no=1), make_context(attempt=2, claim_no=3)

    assert first.idempotency_key == second.idempotency_key == "7-1767614400.000"


def test_another_job_has_another_idempotency_key() -> None:
    later = datetime(2026, 1, 5, 13, tzinfo=UTC)

    assert len({make_context(**values).idempotency_key for values in ({}, {"job_id": 8}, {"enqueued_at": later})}) == 3


def test_the_time_left_is_counted_down_from_the_timeout() -> None:
    assert 3_000 < make_context(timeout_seconds=3_600).seconds_left <= 3_600
    assert make_context(timeout_seconds=-1).seconds_left < 0


def test_check_returns_while_the_run_may_go_on() -> None:
    context = make_context()

    context.check()

    assert not context.should_stop
    assert context.stop_reason is None


@pytest.mark.parametrize("reason", [CancelRequested(), LeaseLost(), TimedOut(), WorkerStopping()], ids=repr)
@pytest.mark.parametrize("ask", [JobContext.check, lambda context: context.progress(1)], ids=["check", "progress"])
def test_a_stopped_run_hears_of_it(reason: RunStopped, ask: Callable[[JobContext], None]) -> None:
    context = make_context()

    context.stop(reason)

    assert context.should_stop
    with pytest.raises(type(reason)) as raised:
        ask(context)
    assert raised.value is reason


def test_the_first_reason_to_stop_stays() -> None:
    context = make_context()

    context.stop(TimedOut())
    context.stop(LeaseLost())

    assert isinstance(context.stop_reason, TimedOut)


def test_a_callback_hears_of_a_stop_once() -> None:
    called: list[str] = []
    context = make_context()
    context.when_stopped(lambda: called.append("stopped"))

    context.stop(TimedOut())
    context.stop(LeaseLost())

    assert called == ["stopped"]


def test_a_callback_that_comes_late_is_called_at_once() -> None:
    called: list[str] = []
    context = make_context()
    context.stop(TimedOut())

    context.when_stopped(lambda: called.append("stopped"))

    assert called == ["stopped"]


def test_stopping_needs_no_callback() -> None:
    context = make_context()

    context.stop(TimedOut())

    assert context.should_stop


def test_there_is_nothing_to_tell_at_first() -> None:
    assert make_context().snapshot() == (None, "")


def test_progress_keeps_the_last_report() -> None:
    context = make_context()

    context.progress(1, 10)
    context.progress(2, 10, "two")

    assert context.snapshot()[0] == {"done": 2, "total": 10, "message": "two"}


@pytest.mark.parametrize(
    ("number", "stored"),
    [
        (5, 5),
        (0.5, 0.5),
        (True, 1),
        (Decimal("0.5"), 0.5),
        (Fraction(1, 2), 0.5),
        (2**70, float(2**70)),
        (10**400, None),
        (math.nan, None),
        (math.inf, None),
        (Decimal("NaN"), None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_progress_takes_any_number_and_keeps_what_json_can(number: Any, stored: float | None) -> None:
    context = make_context()

    context.progress(number, number)

    progress, _ = context.snapshot()
    assert progress == {"done": stored, "total": stored, "message": ""}
    assert json.loads(json.dumps(progress, allow_nan=False)) == progress


def test_progress_of_something_else_is_an_error_of_the_handlers() -> None:
    with pytest.raises((TypeError, ValueError)):
        make_context().progress("half")  # type: ignore[arg-type]


def test_a_progress_message_is_made_storable_and_short() -> None:
    context = make_context()

    context.progress(1, message="a\x00\ud800" + "b" * 1000)

    progress, _ = context.snapshot()
    assert progress is not None
    assert progress["message"].startswith("a\\x00\\ud800bb")
    assert len(progress["message"]) < 600


def test_log_lines_are_kept_in_order_and_storable() -> None:
    context = make_context()

    context.log("one")
    context.log(2)
    context.log("three\x00\ud800")

    assert log_of(context) == "one\n2\nthree\\x00\\ud800"


@override_settings(JOBS={"LOG_MAX_CHARS": 9})
def test_only_the_end_of_the_log_survives() -> None:
    context = make_context()

    for line in ("aaaa", "bbbb", "cccc"):
        context.log(line)

    assert log_of(context) == "bbbb\ncccc"


@override_settings(JOBS={"LOG_MAX_CHARS": 5})
@pytest.mark.parametrize(("line", "kept"), [("0123456789", "56789"), ("\x00\x00", "0\\x00")], ids=["long", "grows"])
def test_of_a_line_that_is_too_long_the_end_survives(line: str, kept: str) -> None:
    context = make_context()

    context.log("before")
    context.log(line)

    assert log_of(context) == kept


@override_settings(JOBS={"LOG_MAX_CHARS": 0})
def test_a_log_that_keeps_nothing_is_empty() -> None:
    context = make_context()

    context.log("x")

    assert log_of(context) == ""


@override_settings(JOBS={"LOG_MAX_CHARS": 1000})
def test_threads_may_log_at_once() -> None:
    context = make_context()

    def write() -> None:
        for number in range(2000):
            context.log(number)
            context.snapshot()

    assert in_threads(write, write, write) == [None] * 3
    assert len(log_of(context)) <= 1000
    assert context._log_chars == len(log_of(context)) + 1


def test_current_is_the_context_that_was_entered() -> None:
    context = make_context()
    token = enter(context)

    assert current() is context
    assert copy_context().run(current) is context

    leave(token)
    with pytest.raises(JobsError, match="No job is running here"):
        current()
