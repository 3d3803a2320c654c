"""What ``decide`` makes of each way in which a run can end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from jobs import Backoff, states
from jobs.outcomes import (
    UNKNOWN_KIND_PAUSE,
    Discarded,
    Expired,
    Failed,
    Failure,
    Lost,
    Outcome,
    Released,
    Snoozed,
    Stopped,
    Succeeded,
    Unclaimable,
    Verdict,
    decide,
    released,
)
from jobs.states import Move

BOO = Failure(exception_class="ValueError", message="boo", traceback="Traceback: boo")
BACKOFF = Backoff()


@dataclass
class Facts:
    attempt: int = 1
    max_attempts: int = 8
    backoff: Backoff = BACKOFF


def decided(outcome: Outcome, **facts: Any) -> Verdict:
    return decide(outcome, Facts(**facts), chance=0)


def lost(*, started: bool = True, deaths: int = 1, worker_is_alive: bool = False) -> Lost:
    return Lost(
        started=started,
        worker="w1",
        last_heard="12:00",
        deaths=deaths,
        quarantine_losses=3,
        worker_is_alive=worker_is_alive,
    )


def test_success_without_a_result() -> None:
    assert decided(Succeeded(None)) == Verdict(move=states.SUCCEED, run="succeeded", error="")


def test_success_with_a_result() -> None:
    assert decided(Succeeded('{"a":1}')) == Verdict(move=states.SUCCEED, run="succeeded", error="", result='{"a":1}')


def test_failure_backs_off() -> None:
    verdict = decided(Failed(failure=BOO), attempt=3)

    assert verdict == Verdict(move=states.BACK_OFF, run="failed", failure=BOO, error="ValueError: boo", delay=8.0)


def test_failure_waits_as_long_as_its_handler_says() -> None:
    assert decided(Failed(failure=BOO, delay=0.0)).delay == 0.0


def test_failure_waits_with_random_jitter_by_default() -> None:
    delays = {decide(Failed(failure=BOO), Facts()).delay for _ in range(100)}

    assert len(delays) > 1
    assert all(2.0 <= delay <= 2.6 for delay in delays if delay is not None)


@pytest.mark.parametrize(
    ("outcome", "attempt"),
    [
        pytest.param(Failed(failure=BOO), 8, id="attempts spent"),
        pytest.param(Failed(failure=BOO, delay=5), 8, id="attempts spent, though the handler asked for a retry"),
        pytest.param(Failed(failure=BOO), 9, id="more attempts than there are"),
        pytest.param(Failed(failure=BOO, is_hopeless=True), 1, id="hopeless"),
    ],
)
def test_failure_without_a_next_attempt_is_death(outcome: Failed, attempt: int) -> None:
    verdict = decided(outcome, attempt=attempt)

    assert verdict == Verdict(move=states.DIE, run="failed", failure=BOO, error="ValueError: boo")


def test_a_timeout_backs_off_and_its_run_says_so() -> None:
    verdict = decided(Failed(failure=BOO, timed_out=True))

    assert (verdict.move, verdict.run) == (states.BACK_OFF, "timed_out")


def test_a_timeout_that_ends_the_process_waits_for_it_whatever_the_backoff() -> None:
    outcome = Failed(failure=BOO, timed_out=True, least_delay=5.0)

    assert decided(outcome, backoff=Backoff(cap=0)).delay == 5.0
    assert decided(outcome, attempt=4).delay == 16.0


def test_a_snooze_hands_the_attempt_back() -> None:
    verdict = decided(Snoozed(60.0, ""), attempt=8)

    assert verdict == Verdict(move=states.SNOOZE, run="snoozed", delay=60.0, refund=True)


def test_a_snooze_keeps_its_reason() -> None:
    assert decided(Snoozed(60.0, "rate limit")).failure == Failure(exception_class="", message="rate limit")


def test_a_discarded_job_is_dead_with_attempts_left() -> None:
    verdict = decided(Discarded("no such user"))

    assert (verdict.move, verdict.run, verdict.error) == (states.DIE, "discarded", "no such user")


def test_a_stopped_job_is_cancelled() -> None:
    verdict = decided(Stopped("not needed"))

    assert (verdict.move, verdict.run, verdict.error) == (states.STOP, "cancelled", "not needed")


def test_an_expired_job_is_cancelled_without_a_run() -> None:
    verdict = decided(Expired())

    assert verdict == Verdict(move=states.STOP, run=None, refund=True, error="Expired before it could start.")


@pytest.mark.parametrize(("started", "run"), [(False, None), (True, "released")])
def test_a_released_job_gets_its_attempt_back(*, started: bool, run: str | None) -> None:
    verdict = decided(Released(started=started))

    assert verdict == Verdict(move=states.RELEASE, run=run, refund=True)
    assert verdict == released(started=started)


def test_a_job_released_for_later_gets_its_attempt_back_too() -> None:
    verdict = decided(Released(started=True, delay=5.0))

    assert verdict == Verdict(move=states.SNOOZE, run="released", refund=True, delay=5.0)


def test_a_kind_without_handler_is_put_off() -> None:
    verdict = decided(Unclaimable(kind="mail", given_up=False))

    assert (verdict.move, verdict.run, verdict.refund, verdict.unknown) == (states.SNOOZE, None, True, True)
    assert (verdict.delay, verdict.error) == (UNKNOWN_KIND_PAUSE, "No handler for kind 'mail' in any live worker.")


def test_a_kind_without_handler_is_given_up() -> None:
    verdict = decided(Unclaimable(kind="mail", given_up=True))

    assert (verdict.move, verdict.run, verdict.refund, verdict.unknown) == (states.DIE, None, True, False)


def test_a_lease_lost_before_the_start_costs_nothing() -> None:
    verdict = decided(lost(started=False), attempt=8)

    assert verdict == Verdict(move=states.RESCUE, run=None, refund=True, stranded=True)


@pytest.mark.parametrize(
    ("worker_is_alive", "fate"), [(False, "has not been heard of since"), (True, "was silent, later alive")]
)
def test_a_lease_lost_after_the_start_costs_an_attempt_and_names_the_worker(
    *, worker_is_alive: bool, fate: str
) -> None:
    verdict = decided(lost(deaths=2, worker_is_alive=worker_is_alive))

    assert (verdict.move, verdict.run, verdict.refund, verdict.losses) == (states.RESCUE, "lost", False, 2)
    assert verdict.error == f"Worker w1 lost the lease; it {fate} (last heartbeat 12:00)."
    assert verdict.failure == Failure(exception_class="LeaseExpired", message=verdict.error)


def test_a_lease_lost_on_the_last_attempt_is_death() -> None:
    verdict = decided(lost(deaths=2), attempt=8)

    assert (verdict.move, verdict.run, verdict.losses) == (states.DIE, "lost", 2)
    assert verdict.error == "Lease expired on the last attempt (w1)."
    assert not verdict.is_quarantine


def test_a_job_that_took_three_workers_with_it_is_quarantined() -> None:
    verdict = decided(lost(deaths=3))

    assert (verdict.move, verdict.run, verdict.losses, verdict.is_quarantine) == (states.DIE, "lost", 3, True)
    assert verdict.error == "Quarantined: 3 workers died while running it, the last one w1."


@pytest.mark.parametrize(
    ("outcome", "move"),
    [
        pytest.param(Failed(failure=BOO), states.BACK_OFF, id="failure"),
        pytest.param(Snoozed(1, ""), states.SNOOZE, id="snooze"),
        pytest.param(Released(started=True), states.RELEASE, id="release"),
        pytest.param(lost(), states.RESCUE, id="rescue"),
        pytest.param(lost(started=False), states.RESCUE, id="rescue unstarted"),
        pytest.param(Unclaimable(kind="mail", given_up=False), states.SNOOZE, id="no handler"),
    ],
)
def test_whatever_would_run_again_yields_to_a_cancel(outcome: Outcome, move: Move) -> None:
    verdict = decided(outcome)

    assert verdict.move is move
    assert verdict.move.yields


@pytest.mark.parametrize(
    ("failure", "summary"),
    [
        (Failure(exception_class="ValueError", message="one\n  two\tthree"), "ValueError: one two three"),
        (Failure(exception_class="KeyError", message=""), "KeyError"),
        (Failure(exception_class="E", message="x" * 600), f"E: {'x' * 497}"),
    ],
    ids=["one line", "no message", "500 characters"],
)
def test_a_summary_is_one_short_line(failure: Failure, summary: str) -> None:
    assert failure.summary == summary
