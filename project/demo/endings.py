"""Whether each job ended as it should: judged from its row and its runs alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.models import Job, JobRun
from jobs.outcomes import RunOutcome
from jobs.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A job and its runs, oldest first. ``label`` turns a worker's name into what people call it."""

    job: Job
    runs: Sequence[JobRun]
    label: Callable[[str], str] = str

    @classmethod
    def of(cls, job_id: int, label: Callable[[str], str]) -> "History":
        return cls(
            job=Job.objects.get(pk=job_id), runs=list(JobRun.objects.filter(job=job_id).order_by("pk")), label=label
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``text`` says what was found, or what is wrong."""

    is_good: bool
    text: str


Check = Callable[[History], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What a job of the show is there for, how it should end, and what else should be true of it then."""

    title: str
    job_id: int
    ends: State = State.SUCCEEDED
    checks: Sequence[Check] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a job ended, beside how it should have."""

    role: Role
    history: History
    findings: Sequence[Finding]

    @property
    def is_right(self) -> bool:
        return all(finding.is_good for finding in self.findings)

    @property
    def reasons(self) -> str:
        """What went wrong, or if all is well, what was found."""
        told = [finding for finding in self.findings if not finding.is_good] or self.findings
        return "; ".join(finding.text for finding in told if finding.text)


def judge(role: Role, history: History) -> Ending:
    """Look at the state first; the checks only make sense in the right one."""
    state = State(history.job.state)
    if state != role.ends:
        why = f", because: {history.job.error}" if history.job.error else ""
        finding = Finding(is_good=False, text=f"should be {role.ends} and is {state}{why}")
        return Ending(role=role, history=history, findings=[finding])
    return Ending(role=role, history=history, findings=[check(history) for check in role.checks])


def ran_once(history: History) -> Finding:
    return Finding(len(history.runs) == 1, "" if len(history.runs) == 1 else f"should run once: {_told(history)}")


def failed_first(history: History) -> Finding:
    """Look for a success after any number of failures, none included."""
    *before, last = history.runs
    is_good = last.outcome == RunOutcome.SUCCEEDED and all(run.outcome == RunOutcome.FAILED for run in before)
    return Finding(
        is_good, f"failed {_times(len(before))}, then succeeded" if is_good else f"should only fail: {_told(history)}"
    )


def waited_first(history: History) -> Finding:
    """Look for a success after any number of snoozes, which spend no attempt."""
    *before, last = history.runs
    is_good = all(run.outcome == RunOutcome.SNOOZED for run in before) and last.attempt == 1
    text = f"snoozed {_times(len(before))}, still attempt 1" if is_good else f"should only snooze: {_told(history)}"
    return Finding(is_good, text)


def outcomes(*expected: RunOutcome, text: str = "") -> Check:
    """Look for exactly these runs."""

    def check(history: History) -> Finding:
        if [run.outcome for run in history.runs] == list(expected):
            return Finding(is_good=True, text=text)
        return Finding(is_good=False, text=f"should be {', then '.join(expected)}: {_told(history)}")

    return check


def started_after(seconds: float) -> Check:
    """Look for a start that did not come before its time, by the database's clock."""

    def check(history: History) -> Finding:
        waited = (_start(history.runs[0]) - history.job.enqueued_at).total_seconds()
        return Finding(waited >= seconds, f"started {waited:.1f} s after it was enqueued")

    return check


def outlived_lease(lease_seconds: float) -> Check:
    """Look for one run that took longer than a lease."""

    def check(history: History) -> Finding:
        took = _seconds(history.runs[0])
        is_good = len(history.runs) == 1 and took > lease_seconds
        found = f"one run of {took:.1f} s on a {lease_seconds:g} s lease"
        return Finding(
            is_good, f"{found}, renewed by heartbeats" if is_good else f"should be {found}: {_told(history)}"
        )

    return check


def taken_over(*, within: float) -> Check:
    """Look for a run that was lost, rescued ``within`` so many seconds, and followed by a success on another worker."""

    def check(history: History) -> Finding:
        if [run.outcome for run in history.runs] != [RunOutcome.LOST, RunOutcome.SUCCEEDED]:
            return Finding(is_good=False, text=f"should be lost, then succeeded: {_told(history)}")
        lost, won = history.runs
        if lost.worker == won.worker:
            return Finding(is_good=False, text=f"ran twice on {history.label(won.worker)}")
        took, restarted = _seconds(lost), (_start(won) - _start(lost)).total_seconds()
        text = f"{history.label(lost.worker)} died of it, {history.label(won.worker)} took over after {restarted:.1f} s"
        return Finding(
            took <= within, text if took <= within else f"{text}: rescued after {took:.1f} s, not {within:g} s"
        )

    return check


def says(text: str) -> Check:
    """Look for ``text`` in the job's error, which is why it ended as it did."""

    def check(history: History) -> Finding:
        error = history.job.error
        return Finding(text in error, error if text in error else f"should say {text!r} and says {error!r}")

    return check


def _times(number: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")


def _told(history: History) -> str:
    return ", ".join(f"{run.outcome} on {history.label(run.worker)}" for run in history.runs) or "it never ran"


def _seconds(run: JobRun) -> float:
    return (run.finished_at - _start(run)).total_seconds()


def _start(run: JobRun) -> datetime:
    """Return when it began; what was never seen to start began when it ended."""
    return run.started_at or run.finished_at
