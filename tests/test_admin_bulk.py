"""All jobs that match, from the admin: what is asked first, what is done at once, and the page of what is not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import path

from jobs import clock, operations, stats
from jobs import job as job_decorator
from jobs.admin import BulkOperationAdmin, JobAdmin, sealing
from jobs.admin import bulk as page
from jobs.admin.job_actions import ACTIONS
from jobs.exceptions import TooSlow
from jobs.models import BulkOperation, Job, JobEvent
from jobs.operations import bulk
from jobs.stats import Selection, counts
from jobs.testing import run_jobs
from tests.jobs import noop
from tests.registering import own_registry
from tests.test_admin import LogIn, act, dead_job, log_in, state_of, told, url

__all__ = ["log_in"]  # a fixture

pytestmark = pytest.mark.django_db

OTHER_SITE = admin.AdminSite(name="office")
OTHER_SITE.register(Job, JobAdmin)
urlpatterns = [path("admin/", admin.site.urls), path("office/", OTHER_SITE.urls)]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two are many."""
    monkeypatch.setattr(bulk, "MOST_AT_ONCE", 1)


def address(action: str, query: str = "state=dead") -> str:
    return f"{url('job_all', action)}?{query}"


def asked(client: Client, action: str, query: str = "state=dead") -> dict[str, str]:
    """Open the page that asks, and return what its form hides."""
    response = client.get(address(action, query))
    assert response.status_code == 200, response.headers
    return {"selection": response.context["kept"]["selection"][0]}


def confirm(client: Client, action: str, query: str = "state=dead", **values: Any) -> Any:
    """Open it and say yes."""
    return client.post(address(action, query), asked(client, action, query) | values)


def test_all_that_match_lead_to_a_page_of_their_own(admin_client: Client) -> None:
    job = dead_job()

    response = admin_client.post(
        url("job_changelist") + "?state=dead&queue=dying",
        {"action": "retry", "_selected_action": [job.pk], "select_across": "1", "index": 0},
    )

    assert response.headers["Location"] == address("retry", "state=dead&queue=dying")
    assert state_of(job) == "dead"


def test_the_page_tells_which_jobs_and_what_is_left_alone(admin_client: Client) -> None:
    jobs = [dead_job() for _ in range(12)]

    html = admin_client.get(address("discard", "queue=dying")).content.decode()

    assert "Discard all 12 jobs</button>" in html
    for text in (
        "<dt>State</dt><dd>Dead</dd>",
        "<dt>Queue</dt><dd>dying (among the newest 100,000 jobs)</dd>",
        f"<li>#{jobs[-1].pk} noop",
        "It was hopeless.",
        "and 2 more",
        "Jobs in other states than these: Dead.",
        "Jobs that come to match",
    ):
        assert text in html
    assert html.count("<li>#") == 10
    assert "Type “" not in html


def test_few_are_done_at_once_and_reported(log_in: LogIn) -> None:
    jobs, client = [dead_job(), dead_job(unique_key="order:7")], log_in("retry_job")
    twin = noop.using(unique_key="order:7").enqueue()

    response = confirm(client, "retry", reason="It is fixed.")

    assert response.headers["Location"] == f"{url('job_changelist')}?state=dead"
    assert [state_of(job) for job in jobs] == ["pending", "dead"]
    assert told(response) == [
        "1 job is pending again.",
        f"Job #{jobs[1].pk} was left alone: job #{twin.pk} has its unique key.",
    ]
    row = BulkOperation.objects.get()
    assert (row.status, row.done, row.blocked, row.actor_label, row.job_id) == ("finished", 1, 1, "alice", None)
    assert JobEvent.objects.get(kind="retried").reason == "It is fixed."


def test_what_died_while_the_page_was_open_is_left(admin_client: Client) -> None:
    before = dead_job()
    hidden = asked(admin_client, "retry")
    after = dead_job()

    admin_client.post(address("retry"), hidden)

    assert (state_of(before), state_of(after)) == ("pending", "dead")


def test_what_was_retried_while_the_page_was_open_is_counted_as_left_alone(admin_client: Client) -> None:
    job, other = dead_job(), dead_job()
    hidden = asked(admin_client, "retry")
    job.retry()

    response = admin_client.post(address("retry"), hidden)

    assert state_of(other) == "pending"
    assert told(response) == ["1 job is pending again."]


def test_parameters_are_kept_with_the_operation(admin_client: Client) -> None:
    job = noop.enqueue()

    confirm(admin_client, "postpone", "state=pending", run_at="2222-02-02T22:22")
    row = BulkOperation.objects.get()
    html = admin_client.get(url("bulkoperation_change", row.pk)).content.decode()

    assert state_of(job) == "scheduled"
    assert row.parameters == {"run_at": "2222-02-02T22:22:00+00:00"}
    assert re.search(r"Run at: .*2222-02-02", html)


def test_a_form_that_is_not_right_is_asked_again_about_the_same_jobs(admin_client: Client) -> None:
    noop.enqueue()
    hidden = asked(admin_client, "reroute", "state=pending")

    response = admin_client.post(address("reroute", "state=pending"), hidden)

    assert "Give a queue, a priority, or both." in response.content.decode()
    assert not BulkOperation.objects.exists()


@pytest.mark.parametrize("selection", ["", "x", "x:y:z"])
def test_without_what_was_asked_about_it_is_asked_anew(admin_client: Client, selection: str) -> None:
    job = dead_job()

    response = admin_client.post(address("retry"), {"selection": selection, "reason": "x"})

    assert "Retry 1 job</button>" in response.content.decode()
    assert state_of(job) == "dead"


def test_what_was_asked_for_one_action_does_not_do_for_another(admin_client: Client) -> None:
    job = dead_job()
    hidden = asked(admin_client, "retry")

    admin_client.post(address("discard"), hidden | {"reason": "x"})

    assert state_of(job) == "dead"


def test_what_was_asked_long_ago_is_asked_anew(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    job = dead_job()
    hidden = asked(admin_client, "retry")
    monkeypatch.setattr(sealing, "FRESH_SECONDS", -1)

    admin_client.post(address("retry"), hidden)

    assert state_of(job) == "dead"


@pytest.mark.parametrize("query", ["state=lost", "queue=%00", "error=x", "state=dead&error=7", "after=x", "q=%00"])
def test_a_filter_that_means_nothing_leads_back_to_the_whole_list(admin_client: Client, query: str) -> None:
    response = admin_client.get(address("retry", query))

    assert (response.status_code, response.headers["Location"]) == (302, url("job_changelist") + "?e=1")


def test_where_there_is_nothing_to_do_it_says_so(admin_client: Client) -> None:
    noop.enqueue()

    response = admin_client.get(address("retry", "state=pending"))

    assert response.headers["Location"] == f"{url('job_changelist')}?state=pending"
    assert told(response) == ["None of these jobs is in a state for this."]


@pytest.mark.parametrize("action", [action.name for action in ACTIONS])
def test_whoever_may_only_look_is_refused(log_in: LogIn, action: str) -> None:
    client = log_in("enqueue_job")

    assert client.get(address(action)).status_code == 403
    assert client.post(address(action)).status_code == 403


def test_each_action_has_the_permission_that_is_checked_as_it_goes_on() -> None:
    assert {f"jobs.{action.permission}" for action in ACTIONS} == {
        each.permission for each in bulk.BULK_ACTIONS.values()
    }
    for action in ACTIONS:
        assert bulk.BULK_ACTIONS[action.name].permission == f"jobs.{action.permission}"
    assert set(page._WORDED) == set(bulk.BULK_ACTIONS) == set(BulkOperation.Action.values)


def test_kinds_that_are_not_permitted_are_named_before(log_in: LogIn) -> None:
    with own_registry():
        job_decorator("refund", permission="auth.add_user")(lambda: None)
        dead_job()

        html = log_in("retry_job").get(address("retry")).content.decode()

    assert "Jobs of kinds whose permission you do not have: refund." in html


@pytest.mark.usefixtures("large")
def test_many_ask_for_the_word_and_a_reason(admin_client: Client) -> None:
    jobs = [dead_job(), dead_job()]

    html = admin_client.get(address("retry")).content.decode()
    refused = confirm(admin_client, "retry", word="discard").content.decode()

    assert "Type “Retry”" in html
    assert "done in the background" in html
    assert "Type the words “Retry”, or go back." in refused
    assert "This field is required." in refused
    assert not BulkOperation.objects.exists()
    assert {state_of(job) for job in jobs} == {"dead"}


@pytest.mark.usefixtures("large")
def test_many_are_done_by_a_job_that_the_page_follows(log_in: LogIn) -> None:
    jobs, client = [dead_job(), dead_job(), dead_job()], log_in("retry_job")

    response = confirm(client, "retry", word=" retry ", reason="It is fixed.")
    row = BulkOperation.objects.get()
    waiting = client.get(response.headers["Location"]).content.decode()
    run_jobs(queues=["jobs.bulk"])
    done = client.get(response.headers["Location"]).content.decode()

    assert response.headers["Location"] == url("bulkoperation_change", row.pk)
    assert told(response) == [f"This is done in the background, by job #{row.job_id}."]
    assert (row.matched, row.status) == (3, "waiting")
    for text in ("</span> Waiting", "0 of 3", "No worker is alive", 'formaction="', "data-jobs-live", "live.js"):
        assert text in waiting
    assert {state_of(job) for job in jobs} == {"pending"}
    for text in ("</span> Finished", "3 of 3", "<dt>Done</dt><dd>3</dd>", "It is fixed.", "It has ended."):
        assert text in done
    assert "data-jobs-live" not in done


@pytest.mark.usefixtures("large")
def test_more_than_are_counted_are_counted_when_it_is_confirmed(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "MOST", 2)
    for _ in range(4):
        dead_job()

    html = admin_client.get(address("retry")).content.decode()
    confirm(admin_client, "retry", word="retry", reason="x")

    assert "Retry more than 2 jobs</button>" in html
    assert BulkOperation.objects.get().matched == 4


def too_slow(*_: Any, **__: Any) -> Any:
    raise TooSlow


@pytest.mark.usefixtures("large")
def test_what_takes_too_long_to_count_can_be_done_all_the_same(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_job()
    for name in ("count", "total", "samples"):
        monkeypatch.setattr(Selection, name, too_slow)

    html = admin_client.get(address("retry")).content.decode()
    response = confirm(admin_client, "retry", word="retry", reason="x")

    assert "Retry all matching jobs</button>" in html
    row = BulkOperation.objects.get()
    assert row.matched is None
    page = admin_client.get(response.headers["Location"]).content.decode()
    assert "<dt>Left</dt>" not in page
    assert "<progress aria-labelledby" in page
    assert 'max="100"' not in page


@pytest.mark.usefixtures("large")
@pytest.mark.urls(__name__)
def test_a_site_without_the_page_leads_to_the_job(admin_client: Client) -> None:
    for _ in range(2):
        dead_job()
    response = admin_client.get("/office/jobs/job/all/retry/?state=dead")
    hidden = {"selection": response.context["kept"]["selection"][0], "word": "retry", "reason": "x"}

    done = admin_client.post("/office/jobs/job/all/retry/?state=dead", hidden)

    assert done.headers["Location"] == f"/office/jobs/job/{BulkOperation.objects.get().job_id}/change/"


def operation(action: str = "retry", **values: Any) -> BulkOperation:
    row = bulk.plan(action, Selection(filter={}, states=(), max_id=0, at=clock.read("default")), {}, matched=4)
    bulk.hand_over(row)
    BulkOperation.objects.filter(pk=row.pk).update(**values)
    row.refresh_from_db()
    return row


def test_whoever_may_do_it_may_stop_it(log_in: LogIn) -> None:
    row, client = operation(status="running"), log_in("retry_job")
    stop = url("bulkoperation_do", row.pk, "stop")
    assert stop in client.get(url("bulkoperation_change", row.pk)).content.decode()

    response = client.post(stop)

    row.refresh_from_db()
    assert (row.stopped_by, row.stop_requested_at is None) == ("alice", False)
    assert told(response) == ["It stops before its next 1,000 jobs."]
    html = client.get(url("bulkoperation_change", row.pk)).content.decode()
    assert "It has been asked to." in html
    assert "It stops before its next 1,000 jobs." in html


def test_whoever_may_not_do_it_may_not_stop_it(log_in: LogIn) -> None:
    row, client = operation(), log_in("cancel_job")
    stop = url("bulkoperation_do", row.pk, "stop")

    assert stop not in client.get(url("bulkoperation_change", row.pk)).content.decode()
    assert client.post(stop).status_code == 403
    assert client.post(url("bulkoperation_changelist"), {"action": "stop"}).status_code == 403
    row.refresh_from_db()
    assert row.stop_requested_at is None


def test_what_was_stopped_says_by_whom(admin_client: Client) -> None:
    row = operation(status="stopped", stopped_by="bob", done=2, asked=1, blocked=1, forbidden=1)

    html = admin_client.get(url("bulkoperation_change", row.pk)).content.decode()

    for text in ("</span> Stopped", "bob stopped it.", "Asked to stop", "Unique key taken", "Kind not permitted"):
        assert text in html


def test_what_has_ended_meanwhile_is_not_stopped(admin_client: Client) -> None:
    row = operation()
    stop = next(action for action in BulkOperationAdmin.steering if action.name == "stop")
    BulkOperation.objects.update(status="finished")

    (sentence,) = stop.run(BulkOperation.objects.all(), actor=operations.Actor())

    assert (sentence.text, sentence.is_good) == ("It has ended.", False)
    assert told(admin_client.post(url("bulkoperation_do", row.pk, "stop"))) == ["It has ended."]


def test_the_live_part_is_only_that_and_only_for_those_who_may_look(client: Client, admin_client: Client) -> None:
    row = operation(status="running", done=1)

    html = admin_client.get(url("bulkoperation_live", row.pk)).content.decode()

    assert "1 of 4" in html
    assert 'value="25"' in html
    assert "<html" not in html
    stranger = User.objects.create_user("carol", is_staff=True)
    client.force_login(stranger)
    assert client.get(url("bulkoperation_live", row.pk)).status_code == 403
    assert Client().get(url("bulkoperation_live", row.pk)).status_code == 302


def test_a_page_whose_job_is_gone_is_shown(admin_client: Client) -> None:
    row = operation()
    Job.objects.all().delete()

    assert admin_client.get(url("bulkoperation_change", row.pk)).status_code == 200


def test_the_list_tells_what_was_done_to_which_jobs(admin_client: Client, django_assert_max_num_queries: Any) -> None:
    dead_job()
    confirm(admin_client, "retry", reason="<b>It is fixed.")
    for _ in range(5):
        operation()

    with django_assert_max_num_queries(12):
        html = admin_client.get(url("bulkoperation_changelist")).content.decode()

    for text in ("Retry", "</span> Finished", "1 of 1", "State: Dead", "&lt;b&gt;It is fixed.", "</span> Waiting"):
        assert text in html
    assert (
        "done at once"
        in admin_client.get(url("bulkoperation_change", BulkOperation.objects.earliest("pk").pk)).content.decode()
    )


def test_nobody_enqueues_our_own_jobs_by_hand(admin_client: Client) -> None:
    assert "jobs.bulk" not in admin_client.get(url("job_add")).content.decode()


def test_what_is_ticked_is_still_done_from_the_list(admin_client: Client) -> None:
    job, other = dead_job(), dead_job()

    act(admin_client, "retry", job, select_across="0")

    assert (state_of(job), state_of(other)) == ("pending", "dead")
    assert not BulkOperation.objects.exists()


def test_an_operation_of_a_newer_version_is_shown_and_cannot_be_stopped_here(admin_client: Client) -> None:
    dead_job()
    selection = stats.freeze({}, bulk.BULK_ACTIONS["retry"].states, using="default")
    row = bulk.plan("retry", selection, {})
    BulkOperation.objects.filter(pk=row.pk).update(action="unheard_of")

    page = admin_client.get(url("bulkoperation_change", row.pk))
    stop = admin_client.post(url("bulkoperation_do", row.pk, "stop"))

    assert "unheard_of" in page.content.decode()
    assert stop.status_code == 403
