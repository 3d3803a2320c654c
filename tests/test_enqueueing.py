"""Inserting jobs: what is stored, in whose transaction, and who gets the row when a unique key is taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError, connection, connections, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from jobs import Backoff, JobSpec, clock, job
from jobs.exceptions import DuplicateJob, InvalidJob
from jobs.models import Job
from jobs.specs import Enqueued
from jobs.states import State
from jobs.testing import run_jobs
from tests.jobs import echo, noop
from tests.leasing import claim, in_threads, settle
from tests.registering import own_registry

pytestmark = pytest.mark.django_db
postgresql_only = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has one writer at a time.")


def in_hours(hours: float) -> datetime:
    return clock.read("default") + timedelta(hours=hours)


def fields_of(job: Job) -> dict[str, Any]:
    return {field.attname: getattr(job, field.attname) for field in Job._meta.concrete_fields}


@contextmanager
def second_alias() -> Iterator[str]:
    """Yield the name of another alias, and so another connection, of the same database."""
    connections["twin"] = connection.copy("twin")
    try:
        yield "twin"
    finally:
        connections["twin"].close()
        del connections["twin"]


@pytest.fixture
def in_shanghai(transactional_db: None) -> Iterator[None]:
    """A site without time zones, and a connection that was opened by it."""
    with override_settings(USE_TZ=False, TIME_ZONE="Asia/Shanghai"):
        connection.close()
        yield
    connection.close()


def columns(pk: int) -> dict[str, Any]:
    """Return what is stored of a job, but for what is every job's own."""
    (row,) = Job.objects.filter(pk=pk).values()
    return {name: value for name, value in row.items() if name not in {"id", "run_at", "enqueued_at"}}


def test_a_job_is_pending_at_once_and_says_that_it_was_created() -> None:
    job = Job.objects.enqueue("echo", {"value": 7})

    assert (job.state, job.created, job.kind, job.payload) == (State.PENDING, True, "echo", {"value": 7})
    assert job.run_at == job.enqueued_at


def test_the_returned_job_is_what_was_stored() -> None:
    job = Job.objects.enqueue(
        noop,
        {"a": (1, {2: "three"})},
        args=[(1.5,)],
        run_at=in_hours(1),
        queue="mail",
        priority=-3,
        max_attempts=2,
        timeout=timedelta(minutes=1),
        backoff=Backoff(base=3, cap=60, jitter=0),
        unique_key="k",
        expires_at=in_hours(2),
        metadata={"by": "ü"},
    )

    assert fields_of(job) == fields_of(Job.objects.get())
    assert (job.payload, job.args) == ({"a": [1, {"2": "three"}]}, [[1.5]])


def test_an_enqueue_is_one_statement() -> None:
    with CaptureQueriesContext(connection) as queries:
        noop.enqueue()

    assert len(queries) == 1


def test_a_definition_is_as_good_as_its_kind() -> None:
    by_name, by_definition, by_method = Job.objects.enqueue("noop"), Job.objects.enqueue(noop), noop.enqueue()

    assert by_name.kind == by_definition.kind == by_method.kind == "noop"


def test_options_given_to_a_definition_count_unless_others_are_given() -> None:
    job = Job.objects.enqueue(noop.using(queue="mail", priority=5), priority=7)

    assert (job.queue, job.priority) == ("mail", 7)


def test_a_spec_stands_for_everything() -> None:
    job = Job.objects.enqueue(echo.using(queue="mail").spec(7))

    assert (job.kind, job.args, job.queue) == ("echo", [7], "mail")


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        pytest.param((JobSpec("noop"), {}), {}, "takes a JobSpec alone: put payload and options into it", id="payload"),
        pytest.param((JobSpec("noop"),), {"queue": "x"}, "takes a JobSpec alone", id="option"),
        pytest.param(
            ("echo",),
            {"value": 7},
            r"enqueue\(\) has no option 'value': .* as in enqueue\('echo', \{'value': \.\.\.\}\)",
            id="argument as option",
        ),
    ],
)
def test_arguments_and_options_are_not_mixed_up(args: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Job.objects.enqueue(*args, **options)

    assert not Job.objects.exists()


def test_async_enqueues_do_the_same() -> None:
    async def enqueue_all() -> list[int]:
        one = await Job.objects.aenqueue("noop", args=[1])
        two = await noop.aenqueue(2)
        (three,) = await Job.objects.aenqueue_many([noop.spec(3)])
        return [one.pk, two.pk, three.id]

    ids = async_to_sync(enqueue_all)()

    assert list(Job.objects.order_by("pk").values_list("pk", "args")) == [
        (ids[0], [1]),
        (ids[1], [2]),
        (ids[2], [3]),
    ]


def test_a_delay_counts_from_the_databases_clock() -> None:
    job = noop.using(delay=90.5).enqueue()

    assert job.state == State.SCHEDULED
    assert job.run_at - job.enqueued_at == timedelta(seconds=90.5)


def test_a_future_run_at_is_scheduled() -> None:
    moment = in_hours(1)

    job = noop.using(run_at=moment).enqueue()

    job.refresh_from_db()
    assert (job.state, job.run_at) == (State.SCHEDULED, moment)


def test_a_past_run_at_runs_now_in_its_turn() -> None:
    late, earlier = noop.enqueue(), noop.using(run_at=datetime(1999, 1, 1, tzinfo=UTC)).enqueue()

    assert earlier.state == State.PENDING
    assert [ran.job_id for ran in run_jobs()] == [earlier.pk, late.pk]


def test_a_moment_of_another_zone_is_the_same_moment() -> None:
    job = noop.using(run_at=datetime.fromisoformat("2026-06-01T12:00:00+01:00")).enqueue()

    job.refresh_from_db()
    assert job.run_at == datetime(2026, 6, 1, 11, tzinfo=UTC)


@pytest.mark.usefixtures("in_shanghai")
def test_without_use_tz_a_naive_run_at_is_in_the_sites_zone() -> None:
    now = noop.enqueue().run_at

    past, future = (noop.using(run_at=now + timedelta(hours=hours)).enqueue() for hours in (-1, 1))

    assert (past.state, future.state) == (State.PENDING, State.SCHEDULED)
    assert future.run_at - now == timedelta(hours=1)


@pytest.mark.usefixtures("in_shanghai")
def test_without_use_tz_the_stored_moment_is_the_right_one() -> None:
    noop.using(run_at=datetime(2026, 1, 5, 12)).enqueue()  # noqa: DTZ001

    with override_settings(USE_TZ=True):
        connection.close()
        assert Job.objects.get().run_at == datetime(2026, 1, 5, 4, tzinfo=UTC)


def test_a_rolled_back_enqueue_never_was() -> None:
    with transaction.atomic():
        noop.enqueue()
        Job.objects.enqueue_many([noop.spec()] * 3)
        transaction.set_rollback(True)

    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_others_see_a_job_when_its_transaction_commits() -> None:
    with second_alias() as twin:
        with transaction.atomic():
            noop.enqueue()
            before = Job.objects.using(twin).count()
        after = Job.objects.using(twin).count()

    assert (before, after) == (0, 1)


def test_a_refused_enqueue_leaves_the_transaction_usable() -> None:
    with transaction.atomic():
        with pytest.raises(InvalidJob):
            Job.objects.enqueue("echo")
        noop.enqueue()

    assert Job.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_using_enqueues_in_the_database_of_that_name() -> None:
    with second_alias() as twin:
        with transaction.atomic(using=twin):
            job = Job.objects.using(twin).enqueue("noop")
            Job.objects.using(twin).enqueue_many([noop.spec()])
            by_default = Job.objects.count()
        assert (job._state.db, by_default, Job.objects.count()) == (twin, 0, 2)


def test_a_taken_key_returns_its_holder() -> None:
    first = echo.using(unique_key="k").enqueue(1)

    second = echo.using(unique_key="k", priority=5).enqueue(2)

    assert (second.pk, second.created, first.created) == (first.pk, False, True)
    assert fields_of(second) == fields_of(Job.objects.get()) == fields_of(first)


def test_a_key_is_held_while_its_job_waits_runs_and_backs_off() -> None:
    held = noop.using(unique_key="k", delay=60).enqueue()
    assert not noop.using(unique_key="k").enqueue().created

    held.trigger()
    claim()

    assert not noop.using(unique_key="k").enqueue().created


@pytest.mark.parametrize("end", ["succeeded", "cancelled"])
def test_a_key_is_free_when_its_job_has_ended(end: str) -> None:
    held = noop.using(unique_key="k").enqueue()
    if end == "cancelled":
        held.cancel()
    else:
        run_jobs()

    assert noop.using(unique_key="k").enqueue().created


def test_the_same_key_means_the_same_for_all_kinds() -> None:
    held = noop.using(unique_key="k").enqueue()

    assert echo.using(unique_key="k").enqueue(1).pk == held.pk


def test_raise_names_the_holder() -> None:
    held = noop.using(unique_key="k").enqueue()

    with pytest.raises(DuplicateJob, match=f"unique_key='k' is held by job #{held.pk}, which is pending") as raised:
        noop.using(unique_key="k", on_conflict="raise").enqueue()

    assert raised.value.job_id == held.pk


@pytest.mark.parametrize("on_conflict", ["skip", "replace", "raise"])
def test_a_free_key_is_taken_whatever_a_conflict_would_do(on_conflict: str) -> None:
    assert noop.using(unique_key="k", on_conflict=on_conflict).enqueue().created


@pytest.mark.parametrize(
    ("before", "after", "state", "due_in"),
    [
        pytest.param({}, {}, State.PENDING, 0, id="pending stays pending"),
        pytest.param({}, {"delay": 60}, State.SCHEDULED, 60, id="pending is put off"),
        pytest.param({"delay": 600}, {}, State.PENDING, 0, id="scheduled becomes due"),
        pytest.param({"delay": 600}, {"delay": 60}, State.SCHEDULED, 60, id="scheduled comes earlier"),
    ],
)
def test_replace_gives_a_waiting_job_new_arguments_time_and_priority(
    before: dict[str, Any], after: dict[str, Any], state: State, due_in: float
) -> None:
    first = echo.using(unique_key="k", queue="mail", **before).enqueue(1)

    second = echo.using(unique_key="k", on_conflict="replace", priority=7, **after).enqueue(value=2)

    assert (second.pk, second.created, second.state) == (first.pk, False, state)
    assert (second.args, second.payload, second.priority, second.queue) == ([], {"value": 2}, 7, "mail")
    assert (second.run_at - first.enqueued_at).total_seconds() == pytest.approx(due_in, abs=25)


@pytest.mark.parametrize(("hours", "state"), [(-1, State.PENDING), (1, State.SCHEDULED)])
def test_replace_takes_a_moment_too(hours: float, state: State) -> None:
    noop.using(unique_key="k", delay=60).enqueue()
    moment = in_hours(hours)

    job = noop.using(unique_key="k", on_conflict="replace", run_at=moment).enqueue()

    assert (job.state, job.run_at) == (state, moment)


@pytest.mark.usefixtures("in_shanghai")
def test_replace_reads_a_naive_moment_in_the_sites_zone() -> None:
    now = noop.using(unique_key="k").enqueue().run_at
    replacing = noop.using(unique_key="k", on_conflict="replace")

    states = [replacing.using(run_at=now + timedelta(hours=hours)).enqueue().state for hours in (1, -1)]

    assert states == [State.SCHEDULED, State.PENDING]


def test_replace_refuses_a_holder_of_another_kind() -> None:
    held = noop.using(unique_key="k").enqueue()

    with pytest.raises(
        DuplicateJob, match=f"held by job #{held.pk} of kind 'noop', whose payload a 'echo' cannot"
    ) as raised:
        echo.using(unique_key="k", on_conflict="replace").enqueue(1)

    assert raised.value.job_id == held.pk
    assert fields_of(Job.objects.get()) == fields_of(held)


def test_replace_leaves_a_running_job() -> None:
    running = echo.using(unique_key="k").enqueue(1)
    (claimed,) = claim()

    met = echo.using(unique_key="k", on_conflict="replace", delay=60).enqueue(2)

    assert (met.pk, met.created, met.state, met.args) == (running.pk, False, State.RUNNING, [1])
    assert settle(claimed.lease) == "done"


@pytest.mark.django_db(transaction=True)
def test_a_replaced_job_is_never_seen_halfway() -> None:
    noop.using(unique_key="k").enqueue()

    with CaptureQueriesContext(connection) as queries:
        noop.using(unique_key="k", on_conflict="replace", delay=3600).enqueue()

    words = [query["sql"].split()[0] for query in queries]
    updates = words[words.index("BEGIN") + 1 : words.index("COMMIT")]
    assert set(updates) == {"UPDATE"}
    assert words.count("UPDATE") == len(updates)


def test_a_key_that_is_never_free_nor_held_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.enqueueing.TRIES", 0)

    with pytest.raises(DuplicateJob, match="unique_key='k' changed hands 0 times meanwhile: try again"):
        noop.using(unique_key="k").enqueue()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_fifty_threads_with_one_key_get_one_job(on_conflict: str) -> None:
    def enqueue() -> tuple[int, bool]:
        job = noop.using(unique_key="k", on_conflict=on_conflict).enqueue()
        return job.pk, job.created

    answers = in_threads(*[enqueue] * 50)

    held = Job.objects.get()
    assert sorted(answers) == [(held.pk, False)] * 49 + [(held.pk, True)]


@pytest.mark.django_db(transaction=True)
def test_a_key_freed_meanwhile_is_taken_again() -> None:
    """Enqueuers and a worker race for one key: every enqueue gets a job, and there is never more than one alive."""

    def enqueue() -> int:
        return len({noop.using(unique_key="k").enqueue().pk for _ in range(20)})

    def work() -> None:
        for _ in range(40):
            for one in claim():
                settle(one.lease)

    *enqueued, worked = in_threads(enqueue, enqueue, work)

    assert worked is None
    assert all(isinstance(ids, int) and ids > 0 for ids in enqueued)
    assert Job.objects.exclude(state=State.SUCCEEDED).count() <= 1


def test_many_come_back_in_order_with_their_flags() -> None:
    held = noop.using(unique_key="b").enqueue()
    specs = [
        noop.spec("plain"),
        noop.using(unique_key="z").spec("z"),
        noop.using(unique_key="b").spec("b"),
        noop.spec("last"),
    ]

    answers = Job.objects.enqueue_many(specs)

    args = dict(Job.objects.values_list("pk", "args"))
    assert [args[answer.id] for answer in answers] == [["plain"], ["z"], [], ["last"]]
    assert [answer.created for answer in answers] == [True, True, False, True]
    assert answers[2] == Enqueued(held.pk, created=False)


@pytest.mark.parametrize("chunk", [1, 2, 3, 1000])
def test_ids_belong_to_their_specs_whatever_the_chunks(chunk: int) -> None:
    keys = [None, "d", "a", None, "c", "a", None, "b", "d"]
    specs = [JobSpec("noop", args=[number], unique_key=key) for number, key in enumerate(keys)]

    answers = Job.objects.enqueue_many(specs, chunk=chunk)

    args = dict(Job.objects.values_list("pk", "args"))
    assert [args[answer.id] for answer in answers] == [[0], [1], [2], [3], [4], [2], [6], [7], [1]]
    assert [answer.created for answer in answers] == [True] * 5 + [False, True, True, False]


def test_many_may_come_from_a_generator_and_may_be_none() -> None:
    assert len(Job.objects.enqueue_many(noop.spec(number) for number in range(3))) == 3
    assert Job.objects.enqueue_many([]) == []


def test_many_are_few_statements() -> None:
    specs = [noop.spec(number) for number in range(100)]

    with CaptureQueriesContext(connection) as queries:
        Job.objects.enqueue_many(specs, chunk=50)

    assert len([query for query in queries if "INSERT" in query["sql"]]) == 2
    assert len(queries) == 4


def test_many_take_every_option_of_one() -> None:
    (answer,) = Job.objects.enqueue_many([noop.using(delay=60, queue="mail", priority=0, timeout=5).spec()])

    job = Job.objects.get(pk=answer.id)
    assert (job.state, job.queue, job.priority, job.timeout) == (State.SCHEDULED, "mail", 0, 5.0)


@pytest.mark.parametrize("order", [*permutations(range(4))], ids=str)
def test_each_of_many_kinds_keeps_what_is_usual_for_it(order: tuple[int, ...]) -> None:
    with own_registry():
        job("mail", queue="mail", priority=5, max_attempts=3, timeout=60, backoff=9)(lambda: None)
        job("quick")(lambda: None)
        specs = [JobSpec("quick"), JobSpec("mail"), JobSpec("mail", timeout=7), JobSpec("quick", queue="own")]
        # As each would be stored by itself.
        alone = [columns(Job.objects.enqueue(spec).pk) for spec in specs]

        together = [answer.id for answer in Job.objects.enqueue_many([specs[place] for place in order])]

    assert [columns(pk) for pk in together] == [alone[place] for place in order]
    assert [row["timeout"] for row in alone] == [None, 60, 7, None]


def test_one_conflict_of_many_that_raises_leaves_none() -> None:
    noop.using(unique_key="k").enqueue()

    with pytest.raises(DuplicateJob, match="unique_key='k' is held by job #"):
        Job.objects.enqueue_many([noop.spec(), noop.using(unique_key="k", on_conflict="raise").spec()])

    assert Job.objects.count() == 1


def test_a_batch_that_raises_for_a_twin_in_itself_leaves_none() -> None:
    twin = noop.using(unique_key="k", on_conflict="raise").spec()

    with pytest.raises(DuplicateJob, match="unique_key='k'"):
        Job.objects.enqueue_many([twin, twin])

    assert not Job.objects.exists()


def test_the_last_of_several_replacements_wins() -> None:
    replacing = echo.using(unique_key="k", on_conflict="replace")

    Job.objects.enqueue_many([replacing.spec(1), replacing.spec(2), replacing.spec(3)])

    assert Job.objects.get().args == [3]


@postgresql_only
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_batches_with_the_same_keys_in_opposite_order_do_not_deadlock(on_conflict: str) -> None:
    keys = [f"key-{number:03}" for number in range(50)]
    keyed = noop.using(on_conflict=on_conflict)

    def enqueue(ordered: list[str]) -> list[int]:
        # One row a statement, so that there is time to meet in the middle.
        answers = Job.objects.enqueue_many([keyed.using(unique_key=key).spec() for key in ordered], chunk=1)
        return [answer.id for answer in answers]

    for _ in range(3):
        # The first time the keys are free, then they are taken.
        forth, back = in_threads(lambda: enqueue(keys), lambda: enqueue(keys[::-1]))
        assert forth == back[::-1]


@postgresql_only
@pytest.mark.django_db(transaction=True)
def test_under_repeatable_read_a_key_taken_meanwhile_is_a_serialization_failure() -> None:
    keyed = noop.using(unique_key="k")

    with transaction.atomic():
        connection.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        before = Job.objects.count()
        in_threads(keyed.enqueue)
        with pytest.raises(OperationalError, match="could not serialize access"), transaction.atomic():
            keyed.enqueue()

    assert (before, Job.objects.count()) == (0, 1)
