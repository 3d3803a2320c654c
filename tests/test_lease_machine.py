"""
Random walks over leases and operations by several workers, against a model of what may happen.

After every step the promises hold: no job is lost, one lease at a time, and
only the present holder of a lease changes anything.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from jobs import clock, leases, maintenance
from jobs.leases import Answer, Beat, Claimed, Lease
from jobs.leases.renewal import renew_by_orm, renew_by_statement
from jobs.leases.settlement import settle_by_orm, settle_by_statement
from jobs.models import Job, JobRun
from jobs.outcomes import Discarded, Expired, Failed, Failure, Outcome, Released, Snoozed, Stopped, Succeeded
from jobs.states import State
from tests.jobs import noop
from tests.leasing import settlement, silence

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("JOBS_WALKS", "12"))
WORKERS = st.sampled_from(["w1", "w2", "w3"])
FAILURE = Failure(exception_class="ValueError", message="boo")
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(
    [
        Succeeded("1"),
        Succeeded(None),
        Failed(failure=FAILURE),
        Failed(failure=FAILURE, is_hopeless=True),
        Failed(failure=FAILURE, timed_out=True),
        Snoozed(60, ""),
        Discarded("no"),
        Stopped("no"),
        Expired(),
        Released(started=True),
        Released(started=False),
    ]
)


class LeaseMachine(RuleBasedStateMachine):
    """``holder`` is the model: the lease, if any, that may write to each job."""

    settle = staticmethod(settle_by_orm)
    renew = staticmethod(renew_by_orm)

    def __init__(self) -> None:
        super().__init__()
        self.block = transaction.atomic()
        self.block.__enter__()
        self.holder: dict[int, Claimed] = {}
        self.given: list[Claimed] = []
        self.claim_numbers: dict[int, int] = {}
        self.enqueued: set[int] = set()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.block.__exit__(None, None, None)

    @rule(attempts=st.integers(1, 3))
    def enqueue(self, attempts: int) -> None:
        self.enqueued.add(noop.using(max_attempts=attempts).enqueue().pk)

    @rule(worker=WORKERS, slots=st.integers(0, 2), ahead=st.integers(0, 2))
    def claim(self, worker: str, slots: int, ahead: int) -> None:
        now, later = leases.claim(worker, slots=slots, ahead=ahead, lease_seconds=30, using="default")
        self.gave(now + later)

    @rule(worker=WORKERS)
    def claim_suspect(self, worker: str) -> None:
        self.gave(leases.claim_suspect(worker, lease_seconds=30, using="default"))

    def gave(self, claimed: list[Claimed]) -> None:
        for one in claimed:
            assert one.job_id not in self.holder, "a job was claimed while somebody held it"
            self.holder[one.job_id] = one
            self.given.append(one)

    @precondition(lambda self: self.given)
    @rule(data=st.data(), outcome=OUTCOMES)
    def settles(self, data: Any, outcome: Outcome) -> None:
        one = data.draw(st.sampled_from(self.given))

        answers = self.settle([settlement(one.lease, outcome, facts=one)], using="default")

        self.answered(one, answers[one.lease])
        if answers[one.lease] is Answer.DONE:
            del self.holder[one.job_id]

    @precondition(lambda self: self.given)
    @rule(data=st.data(), running=st.sampled_from([None, 1.0]))
    def renews(self, data: Any, running: float | None) -> None:
        one = data.draw(st.sampled_from(self.given))

        renewals = self.renew([Beat(lease=one.lease, running=running)], lease_seconds=30, using="default")

        self.answered(one, renewals[one.lease].answer)

    def answered(self, one: Claimed, answer: Answer) -> None:
        assert answer is (Answer.DONE if self.holder.get(one.job_id) == one else Answer.LOST)

    @precondition(lambda self: self.holder)
    @rule(data=st.data())
    def falls_silent_and_is_rescued(self, data: Any) -> None:
        one = data.draw(st.sampled_from(sorted(self.holder.values())))
        silence(one.lease)

        rescued = [one.lease for one in leases.rescue(using="default")]

        assert rescued == [one.lease]
        del self.holder[one.job_id]

    @rule()
    def nothing_else_is_rescued(self) -> None:
        assert leases.rescue(using="default") == []

    @rule()
    def promote(self) -> None:
        Job.objects.scheduled().update(run_at=clock.in_seconds(-1))
        maintenance.promote(using="default")

    @precondition(lambda self: self.enqueued)
    @rule(data=st.data(), operation=st.sampled_from(["retry", "cancel", "trigger"]))
    def somebody_intervenes(self, data: Any, operation: str) -> None:
        job = Job.objects.get(pk=data.draw(st.sampled_from(sorted(self.enqueued))))

        getattr(job, operation)()

        assert (job.state == State.RUNNING) is (job.pk in self.holder)

    @invariant()
    def no_job_is_lost_and_the_leases_are_the_model_s(self) -> None:
        jobs = {job.pk: job for job in Job.objects.all()}
        assert set(jobs) == self.enqueued
        running = {job.pk: Lease(job.pk, job.claim_no) for job in jobs.values() if job.state == State.RUNNING}
        assert running == {job_id: one.lease for job_id, one in self.holder.items()}

    @invariant()
    def claim_numbers_only_grow_and_attempts_stay_in_their_budget(self) -> None:
        for job in Job.objects.all():
            assert job.claim_no >= self.claim_numbers.get(job.pk, 0)
            assert 0 <= job.attempt <= job.max_attempts
            self.claim_numbers[job.pk] = job.claim_no

    @invariant()
    def each_claim_has_at_most_one_run(self) -> None:
        runs = list(JobRun.objects.values_list("job_id", "claim_no"))
        assert len(runs) == len(set(runs))
        assert set(runs) <= {tuple(one.lease) for one in self.given}


class StatementMachine(LeaseMachine):
    settle = staticmethod(settle_by_statement)
    renew = staticmethod(renew_by_statement)


@pytest.mark.parametrize("machine", [LeaseMachine, StatementMachine], ids=["orm", "statement"])
def test_random_walks_keep_the_promises(machine: type[LeaseMachine]) -> None:
    if machine is StatementMachine and connection.vendor != "postgresql":
        pytest.skip("the statement is PostgreSQL's")

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
