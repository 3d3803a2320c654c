"""Bulk operations: what they are about, how they go on, and what ends them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection

from jobs import clock, maintenance, operations, stats
from jobs import job as job_decorator
from jobs.exceptions import InvalidJob
from jobs.models import BulkOperation, Job, JobEvent, JobRun
from jobs.operations import Actor, bulk, walking
from jobs.outcomes import Discarded
from jobs.states import State
from jobs.stats import Selection, search
from jobs.testing import run_jobs
from tests.jobs import echo, noop
from tests.leasing import BROKEN, claim, settle
from tests.plans import assert_cheap, seed
from tests.registering import own_registry

pytestmark = pytest.mark.django_db


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of two, read four at a time."""
    monkeypatch.setattr(walking, "CHUNK", 2)
    monkeypatch.setattr(walking, "PAGE", 4)


def dead(number: int = 1, *, error: str = "It was hopeless.", **options: Any) -> list[Job]:
    jobs = [noop.using(queue="dying", **options).enqueue() for _ in range(number)]
    for claimed in claim(queues=["dying"], slots=number):
        settle(claimed.lease, Discarded(error))
    return list(Job.objects.filter(pk__in=[job.pk for job in jobs]).order_by("pk"))


def freeze(action: str = "retry", **parameters: str) -> Selection:
    """Freeze what matches, a moment ago by no clock: what follows is later even where that counts milliseconds."""
    found = stats.freeze(parameters, bulk.BULK_ACTIONS[action].states, using="default")
    Job.objects.filter(finished_at__lte=found.at).update(finished_at=found.at - timedelta(seconds=1))
    for model, column in ((JobRun, "finished_at"), (JobEvent, "at")):
        model.objects.update(**{column: found.at - timedelta(seconds=1)})
    return found


def plan(action: str = "retry", selection: Selection | None = None, **options: Any) -> BulkOperation:
    return bulk.plan(action, selection or freeze(action), options.pop("parameters", {}), **options)


def carry_out(row: BulkOperation) -> BulkOperation:
    for _ in operations.carry_out(row.pk):
        pass
    row.refresh_from_db()
    return row


def states() -> list[str]:
    return list(Job.objects.order_by("pk").values_list("state", flat=True))


@pytest.mark.usefixtures("small")
def test_all_that_match_are_moved_in_chunks_with_an_event_each_and_one_for_all() -> None:
    dead(5)
    noop.enqueue()

    row = carry_out(plan(matched=5, actor=Actor("", "cron"), reason="It is fixed."))

    assert states() == ["pending"] * 6
    assert (row.status, row.done, row.skipped, row.left) == ("finished", 5, 0, 0)
    assert row.finished_at is not None
    assert JobEvent.objects.filter(kind="retried", actor_label="cron", reason="It is fixed.").count() == 5
    (event,) = JobEvent.objects.filter(kind="bulk")
    assert event.reason == f"Bulk operation #{row.pk} (retry) finished: 5 jobs done, 0 left alone. It is fixed."


def later_dead() -> None:
    dead()


def died_meanwhile() -> None:
    (claimed,) = claim(queues=["running before"])
    settle(claimed.lease, Discarded("Too late."))


@pytest.mark.parametrize("happen", [later_dead, died_meanwhile], ids=["enqueued later", "was running"])
def test_what_comes_to_match_afterwards_is_never_swept_up(happen: Callable[[], None]) -> None:
    noop.using(queue="running before").enqueue()
    dead(2)
    selection = freeze(state="dead")
    happen()

    row = carry_out(plan(selection=selection))

    assert row.done == 2
    assert Job.objects.dead().count() == 1


def test_what_failed_after_the_freeze_waits_for_its_next_attempt_and_is_left() -> None:
    noop.using(queue="mail").enqueue()
    selection = freeze("cancel", queue="mail")
    (claimed,) = claim(queues=["mail"])
    settle(claimed.lease, BROKEN)
    assert states() == ["scheduled"]

    row = carry_out(plan("cancel", selection, matched=1))

    assert states() == ["scheduled"]
    assert (row.done, row.skipped, row.left) == (0, 1, 0)


def test_what_somebody_decided_about_since_is_left_and_a_look_is_no_decision() -> None:
    retried, seen = dead(2)
    selection = freeze(state="dead")
    retried.retry()
    operations.note_payload_viewed(seen)
    (claimed,) = claim(queues=["dying"])
    settle(claimed.lease, Discarded("Again."))
    Job.objects.filter(pk=retried.pk).update(finished_at=selection.at)

    row = carry_out(plan(selection=selection, matched=2))

    assert states() == ["dead", "pending"]
    assert (row.done, row.skipped) == (1, 1)


@pytest.mark.parametrize(
    ("state", "happen"),
    [("pending", lambda: maintenance.promote(using="default")), ("running", lambda: claim(queues=["mail"]))],
    ids=["promoted", "claimed"],
)
def test_a_list_of_one_state_means_those_that_were_in_it(state: str, happen: Callable[[], None]) -> None:
    job = noop.using(queue="mail", delay=60 if state == "pending" else 0).enqueue()
    frozen = freeze("cancel", state=state)
    selection = replace(frozen, at=frozen.at - timedelta(seconds=1))
    Job.objects.filter(state=State.SCHEDULED).update(run_at=clock.now())
    happen()
    assert Job.objects.get(pk=job.pk).state == state

    assert selection.ids_below(None, 10, using="default") == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite compares times as text")
def test_what_came_due_in_the_moment_of_the_freeze_is_meant_though_that_is_a_full_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = noop.enqueue()
    with connection.cursor() as cursor:
        # As the database's own clock writes it.
        cursor.execute("UPDATE jobs_job SET run_at = '2026-01-01 00:00:00.000'")
    now = clock._NOW["sqlite"].replace("NOW", "2026-01-01 00:00:00")
    monkeypatch.setitem(clock._NOW, "sqlite", now)

    selection = stats.freeze({"state": "pending"}, bulk.BULK_ACTIONS["cancel"].states, using="default")

    assert selection.ids_below(None, 9, using="default") == [job.pk]


@pytest.mark.usefixtures("small")
def test_a_job_that_moved_on_is_counted_as_skipped() -> None:
    jobs = dead(5)
    row = plan(selection=freeze(state="dead"), matched=5)
    walk = operations.carry_out(row.pk)
    next(walk)
    jobs[1].discard()
    jobs[0].discard()

    list(walk)

    row.refresh_from_db()
    assert states() == ["cancelled", "cancelled", "pending", "pending", "pending"]
    assert (row.status, row.done, row.skipped) == ("finished", 3, 2)


@pytest.mark.usefixtures("small")
def test_after_a_crash_it_goes_on_where_it_was_and_counts_each_job_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dead(7)
    row = plan(matched=7)
    walk = operations.carry_out(row.pk)
    next(walk)
    with monkeypatch.context() as patch:
        patch.setattr(walking._Walk, "_advance", crash)
        with pytest.raises(RuntimeError, match="boo"):
            next(walk)
    row.refresh_from_db()
    assert (row.status, row.done, states().count("pending")) == ("running", 2, 2)

    row = carry_out(row)

    assert (row.status, row.done, row.skipped) == ("finished", 7, 0)
    assert JobEvent.objects.filter(kind="retried").count() == 7


def crash(*_: Any) -> None:
    raise RuntimeError("boo")


@pytest.mark.usefixtures("small")
def test_two_that_carry_it_out_count_each_job_once() -> None:
    dead(4)
    row = plan(matched=4)
    first, second = operations.carry_out(row.pk), operations.carry_out(row.pk)
    next(first), next(second, None)

    list(first), list(second)

    row.refresh_from_db()
    assert (row.status, row.done, row.skipped) == ("finished", 4, 0)
    assert JobEvent.objects.filter(kind="bulk").count() == 1


@pytest.mark.usefixtures("small")
def test_it_stops_before_the_next_chunk() -> None:
    dead(6)
    row = plan(matched=6)
    walk = operations.carry_out(row.pk)
    next(walk)
    row.refresh_from_db()

    assert bulk.stop(row, actor=Actor("1", "bob"))
    assert not bulk.stop(row)
    list(walk)

    row.refresh_from_db()
    assert (row.status, row.stopped_by, row.done, row.left) == ("stopped", "bob", 2, 4)
    assert carry_out(row).done == 2


def test_what_has_not_begun_is_stopped_at_once_with_its_job() -> None:
    dead()
    row = plan()
    job = bulk.hand_over(row)

    assert bulk.stop(row)

    row.refresh_from_db()
    assert (row.status, Job.objects.get(pk=job.pk).state) == ("stopped", "cancelled")
    assert carry_out(row).done == 0


def test_what_is_deleted_under_way_just_ends(small: None) -> None:
    dead(4)
    row = plan()
    walk = operations.carry_out(row.pk)
    next(walk)
    row.delete()

    assert list(walk) == []


def alice(*codenames: str) -> User:
    user = User.objects.create_user("alice", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs", codename__in=codenames))
    return user


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "lose",
    [
        lambda user: User.objects.update(is_active=False),
        lambda user: user.user_permissions.remove(Permission.objects.get(codename="retry_job")),
        lambda user: user.user_permissions.remove(Permission.objects.get(codename="view_job")),
        lambda user: user.delete(),
    ],
    ids=["deactivated", "may not retry", "may not look", "gone"],
)
def test_it_ends_when_who_wanted_it_may_not_do_it_any_more(lose: Callable[[User], None]) -> None:
    user = alice("view_job", "retry_job")
    dead(4)
    row = plan(actor=Actor.of(user))
    walk = operations.carry_out(row.pk)
    next(walk)
    lose(user)

    list(walk)

    row.refresh_from_db()
    assert (row.status, row.done) == ("failed", 2)
    assert row.error == "alice is not permitted to do this any more."


def test_a_kind_of_its_own_permission_is_counted_as_forbidden() -> None:
    with own_registry():
        refund = job_decorator("refund", permission="auth.add_user")(lambda: None)
        refund.enqueue().cancel()
        dead()

        row = carry_out(plan(actor=Actor.of(alice("view_job", "retry_job"))))

    assert (row.done, row.forbidden) == (1, 1)


def test_a_taken_key_is_counted_and_the_others_are_retried() -> None:
    dead(unique_key="order:7")
    dead(2)
    noop.using(unique_key="order:7").enqueue()

    row = carry_out(plan())

    assert (row.done, row.blocked) == (2, 1)


@pytest.mark.parametrize(
    ("action", "parameters", "expected"),
    [
        ("postpone", {"run_at": "2222-02-02T22:22:00+00:00"}, {"state": "scheduled"}),
        ("reroute", {"queue": "slow", "priority": None}, {"queue": "slow", "priority": 3}),
        ("cancel", {}, {"state": "cancelled"}),
    ],
)
def test_each_action_has_its_parameters(action: str, parameters: dict[str, Any], expected: dict[str, Any]) -> None:
    noop.using(priority=3).enqueue()

    row = carry_out(plan(action, parameters=parameters))

    assert row.done == 1
    assert Job.objects.filter(**expected).exists()


def test_a_worker_does_it_as_a_job_in_a_queue_of_its_own() -> None:
    dead(3)
    row = plan(matched=3)

    job = bulk.hand_over(row)
    run_jobs(queues=["jobs.bulk"])

    row.refresh_from_db()
    job.refresh_from_db()
    assert (job.queue, job.state, row.status, row.done) == ("jobs.bulk", "succeeded", "finished", 3)
    assert job.progress == {"done": 3, "total": 3, "message": "Retry"}


@pytest.mark.parametrize(
    ("end", "status", "error"),
    [
        ({"state": "dead", "finished_at": clock.now(), "error": "Boo."}, "failed", "Boo."),
        ({"state": "cancelled", "finished_at": clock.now(), "error": "Not now."}, "stopped", "Not now."),
        ({}, "running", ""),
    ],
    ids=["dead", "cancelled", "alive"],
)
def test_what_its_job_has_left_is_ended(end: dict[str, Any], status: str, error: str) -> None:
    row = plan()
    job = bulk.hand_over(row)
    BulkOperation.objects.update(status="running")
    Job.objects.filter(pk=job.pk).update(**end)

    bulk.close_abandoned(using="default")

    row.refresh_from_db()
    assert (row.status, row.error) == (status, error)


def test_what_a_web_process_left_is_ended_after_an_hour() -> None:
    row = plan()
    assert bulk.close_abandoned(using="default") == 0
    BulkOperation.objects.update(created_at=clock.in_seconds(-4_000), last_id=7)

    assert bulk.close_abandoned(using="default") == 1

    row.refresh_from_db()
    assert (row.status, row.error) == ("failed", "What carried it out is gone.")


def test_what_failed_goes_on_when_its_job_is_retried() -> None:
    dead(2)
    row = plan()
    BulkOperation.objects.update(status="failed", finished_at=clock.now(), error="Boo.")

    row = carry_out(row)

    assert (row.status, row.error, row.done) == ("finished", "", 2)


def test_ended_ones_are_kept_as_long_as_events() -> None:
    old, new = plan(), plan()
    BulkOperation.objects.update(status="finished", finished_at=clock.now())
    BulkOperation.objects.filter(pk=old.pk).update(finished_at=clock.in_seconds(-100 * 86_400))
    assert maintenance.prunable(using="default")["events"] == 1

    assert list(maintenance.prune(using="default")) == [("events", 1)]

    assert list(BulkOperation.objects.all()) == [new]


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({"queue": "mail"}, {"queue": "mail", "above_id": 0}),
        ({"queue": "mail", "state": "pending"}, {"queue": "mail", "state": "pending"}),
        ({"kind": "noop", "state": "dead", "error": "boo"}, {"kind": "noop", "state": "dead", "error": "boo"}),
        ({"q": " "}, {"q": " "}),
        ({"other": "x"}, {}),
    ],
    ids=str,
)
def test_only_what_the_list_knows_is_in_the_filter(parameters: dict[str, str], wanted: dict[str, Any]) -> None:
    assert stats.freeze(parameters, (), using="default").filter == wanted


@pytest.mark.parametrize(
    "parameters",
    [
        {"state": "lost"},
        {"state": "\0"},
        {"queue": "a,b"},
        {"kind": "\0"},
        {"q": "\0"},
        {"error": "boo"},
        {"error": "boo 7", "state": "dead"},
        {"error": "\0", "state": "dead"},
        {"error": "x" * 201, "state": "dead"},
        {"after": "x"},
        {"after": "7", "state": "dead"},
    ],
    ids=str,
)
def test_a_parameter_that_means_nothing_is_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(InvalidJob):
        stats.freeze(parameters, (), using="default")


@pytest.mark.parametrize("state", ["dead", None])
def test_what_follows_a_page_of_the_newest_goes_by_id_as_that_list_does(state: str | None) -> None:
    first, second = dead(2)
    filters = {} if state is None else {"state": state}

    following = freeze(kind="noop", after=str(second.pk), **filters)

    assert following.ids_below(None, 10, using="default") == [first.pk]


def test_a_search_is_frozen_as_what_it_found_and_a_place_as_where_it_was() -> None:
    wanted, _ = echo.enqueue(value=1), noop.enqueue()

    found = freeze("cancel", q="echo")
    beyond = freeze("cancel", after=str(wanted.pk + 1))

    assert found.filter["ids"] == [wanted.pk]
    assert found.ids_below(None, 9, using="default") == beyond.ids_below(None, 9, using="default") == [wanted.pk]


def test_a_filter_that_looks_at_the_newest_jobs_goes_on_looking_at_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    _, newer = dead(2)
    monkeypatch.setattr(search, "WINDOW", 1)

    selection = freeze(queue="dying")

    assert selection.ids_below(None, 9, using="default") == [newer.pk]


def test_the_filter_is_told_in_words() -> None:
    cases = {
        "State: Dead, Kind: noop, Error: boo …": {"state": "dead", "kind": "noop", "error": "boo …"},
        "State: Dead, Error: (none)": {"state": "dead", "error": ""},
        "State: Dead, Cancelled, Queue: mail (among the newest 100,000 jobs)": {"queue": "mail"},
        "State: Running": {"state": "running"},
        "State: Dead, Cancelled, Search: x, From: after job #7 of that list": {"q": "x", "after": "7"},
    }
    for told, parameters in cases.items():
        spoken = stats.spoken(freeze("retry", **parameters))
        assert ", ".join(f"{label}: {value}" for label, value in spoken) == told


def test_it_is_kept_as_json_and_read_back() -> None:
    dead()
    selection = freeze(state="dead", error="It was hopeless.")

    row = BulkOperation.objects.get(pk=plan(selection=selection).pk)

    assert Selection.of(row) == selection
    assert json.dumps(row.filter)
    assert str(row) == f"#{row.pk} Retry"


def test_samples_and_counts_come_from_every_state_that_is_meant() -> None:
    dead(2)
    noop.enqueue().cancel()
    selection = freeze()

    assert selection.count(using="default").number == selection.total(using="default") == 3
    assert len(selection.samples(2, using="default")) == 2
    assert {job.state for job in selection.samples(9, using="default")} == {"dead", "cancelled"}


def test_a_site_can_dump_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    plan()

    call_command("dumpdata", "jobs")

    assert [row["model"] for row in json.loads(capsys.readouterr().out)] == ["jobs.bulkoperation"]


def test_what_was_closed_before_its_end_stays_so() -> None:
    dead()
    row = plan()
    walk = operations.carry_out(row.pk)
    next(walk)
    BulkOperation.objects.update(status="failed", error="Boo.")

    list(walk)

    row.refresh_from_db()
    assert (row.status, row.error) == ("failed", "Boo.")
    assert not JobEvent.objects.filter(kind="bulk").exists()


@pytest.mark.usefixtures("new_tables")
def test_the_rows_of_a_chunk_are_read_by_an_index() -> None:
    seed(50_000, state="succeeded")
    dead(20)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
    selection = freeze(state="dead", error="It was hopeless.")

    assert_cheap(lambda: selection.ids_below(None, 1_000, using="default"))
    assert_cheap(lambda: selection.count(using="default"))
