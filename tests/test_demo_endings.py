"""How the demo judges what it has seen, and how it tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.models import Job, JobEvent, JobRun
from project.demo import endings, table, wording
from project.demo.endings import Check, Ending, History, Role, judge

State, Outcome = Job.State, JobRun.Outcome
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def run(outcome: Outcome, worker: str = "a", *, start: float = 1, end: float = 2, attempt: int = 1) -> JobRun:
    return JobRun(
        outcome=outcome, worker=worker, started_at=at(start), finished_at=at(end), attempt=attempt, claim_no=1
    )


def history(*runs: JobRun, state: State = State.SUCCEEDED, error: str = "") -> History:
    job = Job(
        pk=7, kind="demo.it", state=state, error=error, enqueued_at=NOON, run_at=at(3), claim_no=1, max_attempts=3
    )
    return History(job=job, runs=runs, label=str.upper)


LOST, WON = run(Outcome.LOST, "a", start=1, end=4.5), run(Outcome.SUCCEEDED, "b", start=5, end=6)
FAILED, SNOOZED, DONE = run(Outcome.FAILED), run(Outcome.SNOOZED), run(Outcome.SUCCEEDED)
TAKEN_OVER = endings.taken_over(within=5)


@pytest.mark.parametrize(
    ("check", "runs", "is_good", "text"),
    [
        pytest.param(endings.ran_once, [DONE], True, "", id="one run"),
        pytest.param(endings.ran_once, [LOST, WON], False, "should run once: lost on A, succeeded on B", id="two runs"),
        pytest.param(endings.ran_once, [], False, "should run once: it never ran", id="no run"),
        pytest.param(endings.failed_first, [FAILED, FAILED, DONE], True, "failed twice, then succeeded", id="flaky"),
        pytest.param(
            endings.failed_first, [LOST, WON], False, "should only fail: lost on A, succeeded on B", id="lost"
        ),
        pytest.param(endings.waited_first, [SNOOZED, DONE], True, "snoozed once, still attempt 1", id="snoozed"),
        pytest.param(
            endings.waited_first,
            [SNOOZED, run(Outcome.SUCCEEDED, attempt=2)],
            False,
            "should only snooze: snoozed on A, succeeded on A",
            id="snooze that cost an attempt",
        ),
        pytest.param(endings.outcomes(Outcome.FAILED, text="as told"), [FAILED], True, "as told", id="outcomes"),
        pytest.param(
            endings.outcomes(Outcome.FAILED, Outcome.FAILED),
            [FAILED],
            False,
            "should be failed, then failed: failed on A",
            id="an outcome short",
        ),
        pytest.param(endings.started_after(1), [DONE], True, "started 1.0 s after it was enqueued", id="in time"),
        pytest.param(endings.started_after(5), [DONE], False, "started 1.0 s after it was enqueued", id="too early"),
        pytest.param(
            endings.outlived_lease(3),
            [run(Outcome.SUCCEEDED, start=0, end=6)],
            True,
            "one run of 6.0 s on a 3 s lease, renewed by heartbeats",
            id="longer than its lease",
        ),
        pytest.param(
            endings.outlived_lease(3),
            [LOST, WON],
            False,
            "should be one run of 3.5 s on a 3 s lease: lost on A, succeeded on B",
            id="lease not renewed",
        ),
        pytest.param(TAKEN_OVER, [LOST, WON], True, "A died of it, B took over after 4.0 s", id="taken over"),
        pytest.param(
            TAKEN_OVER, [DONE], False, "should be lost, then succeeded: succeeded on A", id="it never crashed"
        ),
        pytest.param(TAKEN_OVER, [LOST, DONE], False, "ran twice on A", id="same worker"),
        pytest.param(
            endings.taken_over(within=3),
            [LOST, WON],
            False,
            "A died of it, B took over after 4.0 s: rescued after 3.5 s, not 3 s",
            id="too late",
        ),
    ],
)
def test_a_check_says_what_it_found(check: Check, runs: list[JobRun], is_good: bool, text: str) -> None:  # noqa: FBT001
    finding = check(history(*runs))

    assert (finding.is_good, finding.text) == (is_good, text)


def test_the_error_is_looked_at_for_what_it_says() -> None:
    dead = history(FAILED, state=State.DEAD, error="ValueError: no")

    assert endings.says("no")(dead).text == "ValueError: no"
    assert endings.says("yes")(dead).text == "should say 'yes' and says 'ValueError: no'"


def test_a_wrong_state_is_told_with_its_cause_and_nothing_else_is_checked() -> None:
    role = Role(title="it", job_id=7, checks=[endings.outlived_lease(3)])

    ending = judge(role, history(state=State.DEAD, error="ValueError: no"))

    assert not ending.is_right
    assert ending.reasons == "should be succeeded and is dead, because: ValueError: no"


def test_only_what_went_wrong_is_told_when_something_did() -> None:
    role = Role(title="it", job_id=7, checks=[endings.started_after(1), endings.started_after(5), endings.ran_once])

    ending = judge(role, history(DONE, DONE))

    assert ending.reasons.split("; ")[0] == "started 1.0 s after it was enqueued"
    assert ending.reasons.split("; ")[1] == "should run once: succeeded on A, succeeded on A"


def ending(*, is_right: bool) -> Ending:
    return judge(Role(title="it", job_id=7, ends=State.SUCCEEDED if is_right else State.DEAD), history(DONE))


def test_the_table_counts_what_is_wrong() -> None:
    lines = [text for text, _ in table.lines([ending(is_right=True), ending(is_right=False)])]

    assert lines == [
        "       job  what  ended      runs  how and why",
        "ok     #7   it    succeeded  1",
        "WRONG  #7   it    succeeded  1     should be dead and is succeeded",
        "",
        "1 of 2 jobs did not end as they should.",
    ]


def test_the_table_is_content_when_all_is_well() -> None:
    *_, (text, _) = table.lines([ending(is_right=True)])

    assert text == "All 1 jobs ended as they should."


RAISED = {"exception_class": "ValueError", "message": "no"}


def told(outcome: Outcome, *, state: State, later_claim: bool = False, **values: str) -> str:
    it = history(state=state).job
    it.claim_no += later_claim
    ended = run(outcome)
    for name, value in values.items():
        setattr(ended, name, value)
    return wording.of_run(ended, it, str.upper)[0]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (told(Outcome.SUCCEEDED, state=State.SUCCEEDED), "succeeded in 1.0 s"),
        (told(Outcome.FAILED, state=State.SCHEDULED, **RAISED), "failed, retry in 1.0 s: ValueError: no"),
        (told(Outcome.FAILED, state=State.RUNNING, later_claim=True, **RAISED), "failed: ValueError: no"),
        (told(Outcome.FAILED, state=State.DEAD, **RAISED), "dead after 1 of 3 attempts: ValueError: no"),
        (
            told(Outcome.FAILED, state=State.CANCELLED, **RAISED),
            "failed, and is cancelled as was asked: ValueError: no",
        ),
        (
            told(Outcome.DISCARDED, state=State.DEAD, message="no"),
            "dead at once, discarded by its handler: no",
        ),
        (told(Outcome.SNOOZED, state=State.SCHEDULED), "snoozed, looks again in 1.0 s: no reason given"),
        (told(Outcome.LOST, state=State.PENDING), "rescued from A, which had started it 1.0 s before"),
        (
            told(Outcome.LOST, state=State.DEAD),
            "rescued from A, which had started it 1.0 s before; dead, for it was the last attempt",
        ),
        (told(Outcome.RELEASED, state=State.PENDING), "handed back by A"),
        (told(Outcome.CANCELLED, state=State.CANCELLED), "cancelled after 1.0 s: the handler obeyed"),
    ],
)
def test_a_run_is_told_with_what_comes_next(sentence: str, expected: str) -> None:
    assert sentence == expected


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (JobEvent(kind="cancel_requested", actor_label="Ada", reason="Why not."), "Ada asks it to stop: Why not."),
        (JobEvent(kind="retried", actor_label="Ada"), "retried by Ada"),
        (JobEvent(kind="resumed", reason="It is time."), "resumed by the system: It is time."),
        (JobEvent(kind="quarantined", reason="3 deaths."), "quarantined: 3 deaths."),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_an_event_is_told_with_who_and_why(event: JobEvent, expected: str) -> None:
    assert wording.of_event(event)[0] == expected
