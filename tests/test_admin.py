"""The admin: what it shows, what it lets whom do, and what it costs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse

from jobs import clock, leases, operations, stats
from jobs import job as job_decorator
from jobs.admin import JobAdmin, JobEventAdmin, JobRunAdmin
from jobs.models import Job, JobEvent, JobRun, Queue, Worker
from jobs.operations import Actor
from jobs.outcomes import Discarded, Failed, Failure
from jobs.stats import counts, search
from tests.jobs import echo, noop
from tests.leasing import claim, make_worker, settle, settlement, silence
from tests.registering import own_registry

pytestmark = pytest.mark.django_db

OTHER_SITE = admin.AdminSite(name="office")
OTHER_SITE.register(Job, JobAdmin)
ONLY_HISTORY = admin.AdminSite(name="history")
ONLY_HISTORY.register(JobRun, JobRunAdmin)
ONLY_HISTORY.register(JobEvent, JobEventAdmin)
urlpatterns = [
    path("admin/", admin.site.urls),
    path("office/", OTHER_SITE.urls),
    path("history/", ONLY_HISTORY.urls),
]

SCRIPT = "<script>alert(1)</script>"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;"

LogIn = Callable[..., Client]


@pytest.fixture
def log_in(client: Client) -> LogIn:
    """Log in somebody who may see all of ours, and has the permissions named beside."""

    def log_in(*codenames: str) -> Client:
        user = User.objects.create_user("alice", is_staff=True)
        ours = Permission.objects.filter(content_type__app_label="jobs")
        looks = ours.filter(codename__startswith="view_").exclude(codename="view_job_payload")
        user.user_permissions.set([*looks, *ours.filter(codename__in=codenames)])
        client.force_login(user)
        return client

    return log_in


def dead_job(**options: Any) -> Job:
    job = noop.using(queue="dying", **options).enqueue()
    (claimed,) = claim(queues=["dying"])
    settle(claimed.lease, Discarded("It was hopeless."))
    job.refresh_from_db()
    return job


def running_job(**options: Any) -> Job:
    job = noop.using(queue="busy", **options).enqueue()
    claim(queues=["busy"])
    job.refresh_from_db()
    return job


def backing_off_job() -> Job:
    job = noop.using(queue="failing").enqueue()
    (claimed,) = claim(queues=["failing"])
    failure = Failure(exception_class="ValueError", message=SCRIPT, traceback=f"Traceback: {SCRIPT}")
    leases.settle([settlement(claimed.lease, Failed(failure=failure), duration=2.5, log=SCRIPT)], using="default")
    job.refresh_from_db()
    return job


def url(page: str, *args: Any) -> str:
    return reverse(f"admin:jobs_{page}", args=args)


def listed(client: Client, **query: Any) -> list[int]:
    """Return the ids in the jobs list."""
    return [job.pk for job in client.get(url("job_changelist"), query).context["cl"].result_list]


def ask(client: Client, action: str, *rows: Any, model: str = "job", **more: Any) -> Any:
    """Choose an action in the list."""
    ticked = {"action": action, "_selected_action": [row.pk for row in rows], "index": 0}
    return client.post(url(f"{model}_changelist"), ticked | more)


def act(client: Client, action: str, *rows: Any, **more: Any) -> Any:
    """Choose it and say yes."""
    return ask(client, action, *rows, confirmed="yes", **more)


def reads(queries: CaptureQueriesContext) -> list[str]:
    """Return the statements that read a table."""
    return [query["sql"] for query in queries if ' FROM "' in query["sql"]]


def told(response: Any) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]


def state_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state


def test_the_list_shows_what_a_job_is_and_how_it_stands(admin_client: Client) -> None:
    job = dead_job(max_attempts=5)

    html = admin_client.get(url("job_changelist")).content.decode()

    assert f">{job.pk}</a>" in html
    for text in ("noop", "dying", "Dead", "1 of 5", "It was hopeless."):
        assert text in html


def test_the_list_shows_the_worker_that_has_the_job(admin_client: Client) -> None:
    running_job()

    assert ">w1<" in admin_client.get(url("job_changelist"), {"state": "running"}).content.decode()


def test_a_tried_job_that_waits_is_shown_as_backing_off(admin_client: Client) -> None:
    backing_off_job()

    html = admin_client.get(url("job_changelist")).content.decode().partition('id="result_list"')[2]

    assert "</span> Backing off" in html
    assert "</span> Scheduled" not in html


def test_a_pending_job_of_a_paused_queue_is_shown_as_held(admin_client: Client) -> None:
    noop.using(queue="mail").enqueue()
    operations.pause("mail")

    assert "</span> held" in admin_client.get(url("job_changelist")).content.decode()


def test_a_pending_job_whose_queue_should_have_resumed_is_not_held(admin_client: Client) -> None:
    noop.using(queue="mail").enqueue()
    operations.pause("mail")
    Queue.objects.update(resume_at=clock.in_seconds(-1))

    assert "</span> held" not in admin_client.get(url("job_changelist")).content.decode()


def test_a_running_job_without_a_sign_of_life_is_shown_as_such(admin_client: Client) -> None:
    job = running_job()
    assert "lease expired" not in admin_client.get(url("job_changelist")).content.decode()

    silence(leases.Lease(job.pk, job.claim_no))

    assert "</span> lease expired" in admin_client.get(url("job_changelist")).content.decode()


def test_a_running_job_that_was_asked_to_stop_is_shown_as_cancelling(admin_client: Client) -> None:
    running_job().cancel()

    assert "</span> cancelling" in admin_client.get(url("job_changelist")).content.decode()


def test_the_newest_job_comes_first(admin_client: Client) -> None:
    first, second = noop.enqueue(), noop.enqueue()

    assert listed(admin_client) == [second.pk, first.pk]


def test_no_order_is_taken_from_the_url(admin_client: Client) -> None:
    first, second = noop.enqueue(), noop.enqueue()

    assert listed(admin_client, o="1") == [second.pk, first.pk]


@pytest.mark.parametrize("state", stats.ShownState.values)
def test_the_state_filter_shows_those_jobs_and_no_others(admin_client: Client, state: str) -> None:
    succeeded = noop.using(queue="good").enqueue()
    settle(claim(queues=["good"])[0].lease)
    cancelled = noop.enqueue()
    cancelled.cancel()
    jobs = {
        "scheduled": noop.using(delay=60).enqueue(),
        "backing_off": backing_off_job(),
        "running": running_job(),
        "succeeded": succeeded,
        "dead": dead_job(),
        "cancelled": cancelled,
        "pending": noop.enqueue(),
    }

    assert listed(admin_client, state=state) == [jobs[state].pk]


def test_scheduled_jobs_are_listed_as_they_come_due_and_finished_ones_as_they_ended(admin_client: Client) -> None:
    late, early = noop.using(delay=90).enqueue(), noop.using(delay=60).enqueue()
    dead = [dead_job(), dead_job()]
    Job.objects.filter(pk=dead[0].pk).update(finished_at=clock.in_seconds(60))

    assert listed(admin_client, state="scheduled") == [early.pk, late.pk]
    assert listed(admin_client, state="dead") == [dead[0].pk, dead[1].pk]


@pytest.mark.parametrize("more", [{}, {"state": "pending"}], ids=["any state", "pending"])
def test_the_queue_filter_shows_the_jobs_of_that_queue(admin_client: Client, more: dict[str, str]) -> None:
    mail, _ = noop.using(queue="mail").enqueue(), noop.enqueue()

    assert listed(admin_client, queue="mail", **more) == [mail.pk]


def test_the_queue_filter_offers_the_queues_that_are_known(admin_client: Client) -> None:
    Queue.objects.create(name="a&b")

    html = admin_client.get(url("job_changelist")).content.decode()

    assert 'href="?queue=a%26b"' in html
    assert "a&amp;b" in html


def test_the_queue_filter_looks_at_the_newest_jobs_where_no_index_helps(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, _, new = (noop.using(queue=name).enqueue() for name in ("mail", "other", "mail"))
    monkeypatch.setattr(search, "WINDOW", 2)

    assert listed(admin_client, queue="mail") == [new.pk]
    assert listed(admin_client, queue="mail", state="pending") == [old.pk, new.pk]


@pytest.mark.parametrize(
    "query",
    [{"queue": "\0"}, {"queue": "a,b"}, {"state": "\0"}, {"state": "lost"}, {"state": ["dead", ""]}],
    ids=repr,
)
def test_a_filter_that_means_nothing_leads_back_to_the_whole_list(admin_client: Client, query: dict[str, Any]) -> None:
    response = admin_client.get(url("job_changelist"), query)

    assert (response.status_code, response.headers["Location"]) == (302, url("job_changelist") + "?e=1")


@pytest.mark.parametrize("lookup", ["payload__icontains", "error__icontains", "state__exact", "queue__contains"])
def test_a_lookup_that_is_no_filter_is_refused(admin_client: Client, lookup: str) -> None:
    assert admin_client.get(url("job_changelist"), {lookup: "x"}).status_code == 400


@pytest.mark.parametrize("model", ["job", "jobrun", "jobevent", "queue", "worker"])
def test_a_nul_in_the_search_is_no_error_of_the_server(admin_client: Client, model: str) -> None:
    assert admin_client.get(url(f"{model}_changelist"), {"q": "\0"}).status_code == 200


def test_the_search_finds_an_id(admin_client: Client) -> None:
    job, _ = noop.enqueue(), noop.enqueue()

    assert listed(admin_client, q=str(job.pk)) == [job.pk]
    assert listed(admin_client, q=f" #{job.pk} ") == [job.pk]


def test_the_search_finds_a_unique_key_and_nothing_like_it(admin_client: Client) -> None:
    ended = noop.using(unique_key="order:7").enqueue()
    ended.cancel()
    live = noop.using(unique_key="order:7").enqueue()
    noop.using(unique_key="order:77").enqueue()

    assert listed(admin_client, q="order:7") == [live.pk, ended.pk]


def test_the_search_finds_an_old_live_holder_of_a_unique_key(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    live, *_ = noop.using(unique_key="order:7").enqueue(), noop.enqueue()
    monkeypatch.setattr(search, "WINDOW", 1)

    assert listed(admin_client, q="order:7") == [live.pk]


@pytest.mark.parametrize("term", ["9" * 18, "9" * 5000, "-1", "no such key", "#"])
def test_a_search_for_what_is_not_there_finds_nothing(admin_client: Client, term: str) -> None:
    noop.enqueue()

    assert listed(admin_client, q=term) == []


def test_the_list_costs_the_same_queries_for_many_jobs_and_reads_no_large_column(admin_client: Client) -> None:
    noop.enqueue("large")
    with CaptureQueriesContext(connection) as few:
        admin_client.get(url("job_changelist"))
    for _ in range(20):
        backing_off_job()

    with CaptureQueriesContext(connection) as many:
        admin_client.get(url("job_changelist"))

    assert len(reads(many)) == len(reads(few)) <= 7
    assert not [sql for sql in reads(many) if '"payload"' in sql or '"args"' in sql]


def test_the_page_of_a_job_escapes_all_that_others_wrote(admin_client: Client) -> None:
    job = backing_off_job()
    Job.objects.filter(pk=job.pk).update(
        args=[SCRIPT],
        payload={SCRIPT: SCRIPT},
        error=SCRIPT,
        unique_key=SCRIPT,
        result=SCRIPT,
        progress={"message": SCRIPT},
        log=SCRIPT,
        metadata={"a": SCRIPT},
    )
    job.trigger(actor=Actor("1", SCRIPT), reason=SCRIPT)

    html = admin_client.get(url("job_change", job.pk)).content.decode()

    assert SCRIPT not in html
    assert html.count(ESCAPED) >= 10


def test_the_list_escapes_all_that_others_wrote(admin_client: Client) -> None:
    job = dead_job()
    Job.objects.filter(pk=job.pk).update(error=SCRIPT, kind=SCRIPT, queue=SCRIPT)
    Queue.objects.create(name=SCRIPT)

    html = admin_client.get(url("job_changelist")).content.decode()

    assert SCRIPT not in html
    assert html.count(ESCAPED) >= 4


def test_the_page_of_a_job_tells_its_history_in_order(admin_client: Client) -> None:
    job = backing_off_job()
    job.trigger(actor=Actor("1", "bob"), reason="The mail server is back.")

    html = admin_client.get(url("job_change", job.pk)).content.decode()

    told = [
        "Enqueued",
        "Attempt 1: Failed",
        "waited ",
        "took 2.5 s",
        "ValueError",
        "Run now",
        "bob",
        "The mail server is back.",
    ]
    assert [html.index(text, html.index("Timeline")) for text in told] == sorted(
        html.index(text, html.index("Timeline")) for text in told
    )


def test_the_page_of_a_running_job_says_so(admin_client: Client) -> None:
    html = admin_client.get(url("job_change", running_job().pk)).content.decode()

    assert "Attempt 1: running" in html


def test_the_page_of_a_waiting_job_says_when_it_is_due(admin_client: Client) -> None:
    html = admin_client.get(url("job_change", noop.using(delay=60).enqueue().pk)).content.decode()

    assert "Attempt 1 is due" in html


def test_the_page_of_a_job_leads_to_all_its_runs(admin_client: Client) -> None:
    job = backing_off_job()

    html = admin_client.get(url("job_change", job.pk)).content.decode()

    assert f'href="{url("jobrun_changelist")}?q={job.pk}"' in html


def test_the_page_of_a_job_leaves_out_data_it_has_not(admin_client: Client) -> None:
    # With its tags, since the letters alone may be in a token of the page.
    assert ">Data<" not in admin_client.get(url("job_change", noop.enqueue().pk)).content.decode()
    assert ">Data<" in admin_client.get(url("job_change", noop.enqueue(1).pk)).content.decode()


def test_a_large_payload_is_cut(admin_client: Client) -> None:
    job = echo.enqueue(value="x" * 50_000)

    html = admin_client.get(url("job_change", job.pk)).content.decode()

    assert re.search(r"the whole has 5001\d characters", html)
    assert len(html) < 50_000


@pytest.mark.parametrize("model", ["job", "jobrun"])
@pytest.mark.parametrize("object_id", ["0", "9" * 30, "nonsense", "_00"])
def test_a_row_that_is_not_there_is_said_not_to_be(admin_client: Client, object_id: str, model: str) -> None:
    response = admin_client.get(f"/admin/jobs/{model}/{object_id}/change/", follow=True)

    assert response.status_code == 200
    assert "exist" in told(response)[0]


def test_a_site_that_groups_digits_shows_the_id_as_it_is(admin_client: Client, settings: Any) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    job = noop.enqueue()
    Job.objects.filter(pk=job.pk).update(id=1_234_567)

    assert ">1234567</a>" in admin_client.get(url("job_changelist")).content.decode()


@pytest.mark.skipif(connection.vendor == "sqlite", reason="A check refuses SQLite without zones.")
def test_times_are_shown_where_the_site_has_no_zones(admin_client: Client, settings: Any) -> None:
    settings.USE_TZ = False

    assert admin_client.get(url("job_change", noop.enqueue().pk)).status_code == 200


def test_retry_makes_the_ticked_jobs_pending_and_records_who_and_why(log_in: LogIn) -> None:
    jobs = [dead_job(), dead_job()]

    response = act(log_in("retry_job"), "retry", *jobs, reason="It is fixed.")

    assert {state_of(job) for job in jobs} == {"pending"}
    assert told(response) == ["2 jobs are pending again."]
    event = JobEvent.objects.filter(job=jobs[0]).get()
    alice = User.objects.get(username="alice")
    assert (event.kind, event.actor_id, event.actor_label, event.reason) == (
        "retried",
        str(alice.pk),
        "alice",
        "It is fixed.",
    )


def test_cancel_ends_waiting_jobs_and_asks_running_ones(log_in: LogIn) -> None:
    waiting, running = noop.enqueue(), running_job()

    response = act(log_in("cancel_job"), "cancel", waiting, running)

    assert (state_of(waiting), state_of(running)) == ("cancelled", "running")
    assert told(response) == ["1 job was cancelled.", "1 running job was asked to stop."]
    assert set(JobEvent.objects.values_list("kind", flat=True)) == {"cancelled", "cancel_requested"}


def test_a_job_whose_state_does_not_allow_it_is_reported_and_left(log_in: LogIn) -> None:
    job = noop.enqueue()

    response = act(log_in("retry_job"), "retry", job)

    assert state_of(job) == "pending"
    assert told(response) == ["1 job was left alone: its state does not allow it, or somebody else has it locked."]


def test_a_job_whose_key_is_taken_is_reported_with_the_one_that_has_it(log_in: LogIn) -> None:
    dead = dead_job(unique_key="order:7")
    twin = noop.using(unique_key="order:7").enqueue()

    response = act(log_in("retry_job"), "retry", dead)

    assert state_of(dead) == "dead"
    assert told(response) == [f"Job #{dead.pk} was left alone: job #{twin.pk} has its unique key."]


def test_of_many_jobs_whose_key_is_taken_only_some_are_named(log_in: LogIn) -> None:
    dead = [dead_job(unique_key="order:7") for _ in range(8)]

    response = act(log_in("retry_job"), "retry", *dead)

    assert told(response)[0] == "1 job is pending again."
    assert len(told(response)) == 7
    assert told(response)[-1] == "2 more jobs were left alone: others have their unique keys."


def test_all_of_a_long_list_of_another_sort_means_as_many_as_were_counted(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "MOST", 1)
    queues = [Queue.objects.create(name=name) for name in "ab"]

    act(admin_client, "pause", queues[0], model="queue", select_across="1")

    assert list(Queue.objects.paused().values_list("name", flat=True)) == ["a"]


def test_nothing_is_done_where_nothing_is_ticked(admin_client: Client) -> None:
    noop.enqueue()

    response = act(admin_client, "cancel")

    assert response.status_code == 302
    assert Job.objects.pending().exists()


def test_nothing_is_done_where_no_action_is_chosen(admin_client: Client) -> None:
    response = act(admin_client, "", noop.enqueue())

    assert told(response) == ["No action selected."]


@pytest.mark.parametrize("pk", ["\0", "x", "9" * 30], ids=["nul", "text", "huge"])
def test_a_ticked_row_that_can_be_none_is_a_bad_request(admin_client: Client, pk: str) -> None:
    response = admin_client.post(url("job_changelist"), {"action": "cancel", "_selected_action": pk, "index": 0})

    assert response.status_code == 400


def test_a_nul_in_the_reason_does_nothing(admin_client: Client) -> None:
    job = noop.enqueue()

    assert "Null characters" in act(admin_client, "cancel", job, reason="\0").content.decode()
    assert "Null characters" in admin_client.post(url("job_do", job.pk, "cancel"), {"reason": "\0"}).content.decode()
    assert state_of(job) == "pending"


def test_whoever_may_only_look_is_offered_no_action(log_in: LogIn) -> None:
    job = dead_job()
    client = log_in()

    assert 'name="action"' not in client.get(url("job_changelist")).content.decode()
    page = client.get(url("job_change", job.pk)).content.decode().partition('id="content"')[2]
    assert 'class="button' not in page
    assert "formaction" not in page


@pytest.mark.parametrize("action", ["retry", "trigger", "cancel", "discard", "postpone", "reroute"])
def test_whoever_may_only_look_is_refused_an_action(log_in: LogIn, action: str) -> None:
    dead, pending, client = dead_job(), noop.enqueue(), log_in()

    assert act(client, action, dead, pending).status_code == 403
    assert client.get(url("job_do", dead.pk, action)).status_code == 403
    assert client.post(url("job_do", dead.pk, action)).status_code == 403
    assert (state_of(dead), state_of(pending)) == ("dead", "pending")


def test_each_action_needs_its_own_permission(log_in: LogIn) -> None:
    job, client = noop.enqueue(), log_in("retry_job", "pause_queue")

    assert act(client, "cancel", job).status_code == 403
    assert client.post(url("job_do", job.pk, "cancel")).status_code == 403
    assert state_of(job) == "pending"


def test_an_action_also_needs_the_permission_to_look(client: Client) -> None:
    user = User.objects.create_user("carol", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="cancel_job"))
    client.force_login(user)
    job = noop.enqueue()

    assert act(client, "cancel", job).status_code == 403
    assert client.post(url("job_do", job.pk, "cancel")).status_code == 403
    assert state_of(job) == "pending"


def test_nobody_can_change_or_delete(admin_client: Client) -> None:
    job = noop.enqueue()

    assert admin_client.post(url("job_change", job.pk), {"state": "dead"}).status_code == 403
    assert admin_client.post(url("job_delete", job.pk), {"post": "yes"}).status_code == 403
    assert act(admin_client, "delete_selected", job).status_code == 403
    assert state_of(job) == "pending"


def test_a_button_acts_on_the_job_of_the_page_and_comes_back_to_it(log_in: LogIn) -> None:
    job, client = dead_job(), log_in("retry_job")

    response = client.post(url("job_do", job.pk, "retry"), {"reason": "It is fixed."})

    assert response.headers["Location"] == url("job_change", job.pk)
    assert state_of(job) == "pending"
    assert told(response) == ["1 job is pending again."]
    assert JobEvent.objects.get().reason == "It is fixed."


def test_a_button_keeps_the_filters_of_the_list(admin_client: Client) -> None:
    job = dead_job()
    kept = "?_changelist_filters=state%3Ddead"

    html = admin_client.get(url("job_change", job.pk) + kept).content.decode()
    assert f'href="{url("job_do", job.pk, "discard")}{kept}"' in html
    response = admin_client.post(url("job_do", job.pk, "retry") + kept)

    assert f'formaction="{url("job_do", job.pk, "retry")}{kept}"' in html
    assert response.headers["Location"] == url("job_change", job.pk) + kept


def offered(client: Client, job: Job) -> dict[str, str]:
    """Return what stands against each button of the job's page."""
    return {offer.name: str(offer.why_not) for offer in client.get(url("job_change", job.pk)).context["offers"]}


@pytest.mark.parametrize(
    ("make", "enabled"),
    [
        (dead_job, {"retry", "discard", "copy"}),
        (noop.enqueue, {"cancel", "postpone", "reroute"}),
        (backing_off_job, {"cancel", "postpone", "reroute", "trigger"}),
        (running_job, {"cancel"}),
    ],
    ids=["dead", "pending", "backing off", "running"],
)
def test_a_button_that_the_state_forbids_is_disabled_and_says_why(
    admin_client: Client, make: Callable[[], Job], enabled: set[str]
) -> None:
    job = make()

    offers = offered(admin_client, job)
    html = admin_client.get(url("job_change", job.pk)).content.decode()

    assert {name for name, why_not in offers.items() if not why_not} == enabled
    assert html.count('aria-disabled="true"') == len(offers) - len(enabled)
    assert all(why_not in html for why_not in offers.values())


def test_what_is_barred_by_the_state_is_refused_when_it_is_asked_for(admin_client: Client) -> None:
    job = dead_job()

    for respond in (admin_client.get, admin_client.post):
        response = respond(url("job_do", job.pk, "cancel"))
        assert response.headers["Location"] == url("job_change", job.pk)
        assert told(response)[-1] == "It has ended."


def test_a_page_asks_first_and_names_the_job(admin_client: Client) -> None:
    job = noop.enqueue()

    html = admin_client.get(url("job_do", job.pk, "cancel")).content.decode()

    assert f'<button type="submit" class="button jobs-danger">Cancel job #{job.pk} noop</button>' in html
    assert f'href="{url("job_change", job.pk)}" class="button jobs-back" autofocus' in html
    assert state_of(job) == "pending"


def test_a_running_job_is_asked_to_stop(admin_client: Client) -> None:
    job = running_job()

    assert "Ask to stop…" in admin_client.get(url("job_change", job.pk)).content.decode()
    html = admin_client.get(url("job_do", job.pk, "cancel")).content.decode()
    assert f"Ask job #{job.pk} noop to stop" in html
    response = admin_client.post(url("job_do", job.pk, "cancel"), {"reason": "Wrong file"})

    assert told(response) == ["1 running job was asked to stop."]


def test_the_list_asks_first_and_says_how_many(admin_client: Client) -> None:
    jobs = [noop.enqueue() for _ in range(12)]

    html = ask(admin_client, "cancel", *jobs).content.decode()

    assert '<button type="submit" class="button jobs-danger">Cancel 12 jobs</button>' in html
    assert html.count('name="_selected_action"') == 12
    assert html.count("<li>#") == 10
    assert "and 2 more" in html
    assert state_of(jobs[0]) == "pending"


def test_many_jobs_are_not_discarded_without_a_reason(admin_client: Client) -> None:
    jobs = [dead_job(), dead_job()]

    refused = act(admin_client, "discard", *jobs)
    assert "This field is required." in refused.content.decode()
    assert {state_of(job) for job in jobs} == {"dead"}
    done = act(admin_client, "discard", *jobs, reason="Known")

    assert told(done) == ["2 jobs were discarded."]
    assert {state_of(job) for job in jobs} == {"cancelled"}
    assert set(JobEvent.objects.values_list("kind", "reason")) == {("discarded", "Known")}


def test_a_job_is_postponed_to_a_time_that_is_still_to_come(log_in: LogIn) -> None:
    job, client = noop.enqueue(), log_in("reschedule_job")
    address = url("job_do", job.pk, "postpone")

    assert 'type="datetime-local"' in client.get(address).content.decode()
    assert "This field is required." in client.post(address).content.decode()
    assert "This time has passed." in client.post(address, {"run_at": "2020-01-01T00:00"}).content.decode()
    response = client.post(address, {"run_at": "2222-02-02T22:22", "reason": "Later"})

    job.refresh_from_db()
    assert told(response) == ["1 job was postponed."]
    assert (job.state, f"{job.run_at:%Y-%m-%d %H:%M}") == ("scheduled", "2222-02-02 22:22")
    assert "→ 2222-02-02 22:22:00\nLater" in client.get(url("job_change", job.pk)).content.decode()


def test_a_job_gets_another_queue_and_priority(log_in: LogIn) -> None:
    job, client = noop.enqueue(), log_in("reschedule_job")
    address = url("job_do", job.pk, "reroute")
    html = client.get(address).content.decode()
    assert 'value="default"' in html
    assert 'value="0"' in html

    response = client.post(address, {"queue": "mail", "priority": "7"})

    job.refresh_from_db()
    assert told(response) == ["1 job was changed."]
    assert (job.queue, job.priority) == ("mail", 7)
    assert "Queue: default → mail\nPriority: 0 → 7" in client.get(url("job_change", job.pk)).content.decode()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({}, "Give a queue, a priority, or both."),
        ({"queue": "a,b"}, "is no queue name"),
        ({"priority": "101"}, "less than or equal to 100"),
        ({"priority": "x"}, "Enter a whole number."),
    ],
    ids=str,
)
def test_a_queue_or_priority_that_cannot_be_is_refused(admin_client: Client, values: Any, error: str) -> None:
    job = noop.enqueue()

    response = act(admin_client, "reroute", job, **values)

    assert error in response.content.decode()
    assert not JobEvent.objects.exists()


def test_many_jobs_get_another_priority_and_keep_their_queues(admin_client: Client) -> None:
    jobs = [noop.enqueue(), noop.using(queue="mail").enqueue()]

    act(admin_client, "reroute", *jobs, priority="-5")

    assert list(Job.objects.order_by("pk").values_list("queue", "priority")) == [("default", -5), ("mail", -5)]


def test_a_scheduled_job_is_run_now(log_in: LogIn) -> None:
    job, client = noop.using(delay=60).enqueue(), log_in("reschedule_job")

    response = client.post(url("job_do", job.pk, "trigger"))

    assert told(response) == ["1 job is pending now."]
    assert state_of(job) == "pending"


def test_a_queue_is_paused_until_a_time(log_in: LogIn) -> None:
    queue, client = Queue.objects.create(name="mail"), log_in("pause_queue")

    client.post(url("queue_do", queue.pk, "pause"), {"resume_at": "2222-02-02T22:22", "reason": "Upgrade"})

    queue.refresh_from_db()
    assert queue.resume_at is not None
    assert (queue.pause_reason, queue.resume_at.year) == ("Upgrade", 2222)


def test_a_kind_of_its_own_permission_is_not_started_by_whoever_lacks_it(log_in: LogIn) -> None:
    with own_registry():
        refund = job_decorator("refund", permission="auth.add_user")(lambda: None)
        dead, waiting = refund.enqueue(), refund.using(delay=60).enqueue()
        dead.cancel()
        client = log_in("retry_job", "reschedule_job")

        assert "needs the permission auth.add_user" in offered(client, dead)["retry"]
        assert "needs the permission auth.add_user" in offered(client, waiting)["trigger"]
        client.post(url("job_do", dead.pk, "retry"))
        response = act(client, "trigger", waiting)

        assert (state_of(dead), state_of(waiting)) == ("cancelled", "scheduled")
        assert told(response)[-1].startswith("1 job was left alone: its kind has a permission of its own")


def test_a_job_that_was_asked_to_stop_cannot_be_asked_again(admin_client: Client) -> None:
    job = running_job()
    job.cancel()

    assert "It has been asked to stop." in admin_client.get(url("job_change", job.pk)).content.decode()


@pytest.mark.parametrize("action", ["retry", "trigger", "cancel", "discard", "postpone", "reroute"])
def test_nothing_is_done_by_following_a_link(admin_client: Client, action: str) -> None:
    jobs = [dead_job(), backing_off_job(), noop.enqueue()]
    before = [state_of(job) for job in jobs]

    for job in jobs:
        admin_client.get(
            url("job_do", job.pk, action), {"run_at": "2222-02-02T22:22", "queue": "x", "confirmed": "yes"}
        )

    assert [state_of(job) for job in jobs] == before
    assert not JobEvent.objects.exists()


def test_a_button_needs_its_csrf_token(log_in: LogIn) -> None:
    job = noop.enqueue()
    log_in("cancel_job")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="alice"))

    assert strict.post(url("job_do", job.pk, "cancel")).status_code == 403
    assert state_of(job) == "pending"


def test_a_button_for_a_job_that_is_gone_says_so(admin_client: Client) -> None:
    assert admin_client.post(url("job_do", 404, "cancel")).status_code == 404


@pytest.mark.parametrize("action", ["delete_selected", "get_urls", "nonsense"])
def test_a_button_that_does_not_exist_is_refused(admin_client: Client, action: str) -> None:
    assert admin_client.post(url("job_do", noop.enqueue().pk, action)).status_code == 403


def test_queues_are_paused_and_resumed_with_an_event(log_in: LogIn) -> None:
    queue, client = Queue.objects.create(name="mail"), log_in("pause_queue")

    paused = act(client, "pause", queue, model="queue", reason="Upgrade")
    queue.refresh_from_db()
    assert (queue.paused_by, queue.pause_reason) == ("alice", "Upgrade")
    resumed = client.post(url("queue_do", queue.pk, "resume"))
    queue.refresh_from_db()

    assert queue.paused_at is None
    assert told(paused) == ["1 queue is paused; what runs goes on."]
    assert told(resumed)[-1] == "Queue mail is resumed."
    assert list(JobEvent.objects.order_by("id").values_list("kind", "queue")) == [
        ("paused", "mail"),
        ("resumed", "mail"),
    ]


def test_a_queue_that_is_not_paused_is_not_resumed(log_in: LogIn) -> None:
    queue = Queue.objects.create(name="mail")

    response = act(log_in("pause_queue"), "resume", queue, model="queue")

    assert told(response) == ["Queue mail was not paused."]
    assert not JobEvent.objects.exists()


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_pausing_and_resuming_need_their_permission(log_in: LogIn, action: str) -> None:
    queue, client = Queue.objects.create(name="mail"), log_in("retry_job", "cancel_job")

    assert act(client, action, queue, model="queue").status_code == 403
    assert client.post(url("queue_do", queue.pk, action)).status_code == 403


def test_the_queues_say_which_are_paused_by_whom_and_why(admin_client: Client) -> None:
    noop.using(queue="mail").enqueue()
    operations.pause("mail", actor=Actor("1", "bob"), reason=SCRIPT)
    Queue.objects.create(name="other")

    html = admin_client.get(url("queue_changelist")).content.decode()

    for text in (
        "</span> Paused",
        "</span> Open",
        "bob",
        ESCAPED,
        f"{url('job_changelist')}?queue=mail&amp;state=pending",
    ):
        assert text in html
    assert SCRIPT not in html


def test_the_page_of_a_queue_offers_to_resume_it_only_while_it_is_paused(admin_client: Client) -> None:
    queue = Queue.objects.create(name="mail")
    assert "It is not paused." in admin_client.get(url("queue_change", queue.pk)).content.decode()

    operations.pause("mail")

    assert "It is not paused." not in admin_client.get(url("queue_change", queue.pk)).content.decode()


def test_queues_are_found_by_name(admin_client: Client) -> None:
    for name in ("mail", "mailing"):
        Queue.objects.create(name=name)

    results = admin_client.get(url("queue_changelist"), {"q": "mail"}).context["cl"].result_list

    assert [queue.name for queue in results] == ["mail"]


def test_a_worker_is_drained_with_an_event(log_in: LogIn) -> None:
    worker, client = make_worker("host:1:abc"), log_in("drain_worker")

    response = client.post(url("worker_do", worker.pk, "drain"), {"reason": "Upgrade"})

    worker.refresh_from_db()
    assert worker.drain_requested_at is not None
    assert told(response) == ["Worker host:1:abc was asked to finish what it runs and end."]
    event = JobEvent.objects.get()
    assert (event.kind, event.worker, event.actor_label, event.reason) == ("drained", "host:1:abc", "alice", "Upgrade")


@pytest.mark.parametrize(
    ("values", "why_not"),
    [({"stopped_at": clock.now()}, "It has stopped."), ({"drain_requested_at": clock.now()}, "It has been asked to.")],
    ids=["stopped", "asked before"],
)
def test_a_worker_that_has_stopped_or_was_asked_before_is_left_alone(log_in: LogIn, values: Any, why_not: str) -> None:
    worker, client = make_worker("host:1:abc", **values), log_in("drain_worker")

    response = act(client, "drain", worker, model="worker")

    assert told(response) == ["Worker host:1:abc was left alone: it has stopped, or was asked before."]
    assert why_not in client.get(url("worker_change", worker.pk)).content.decode()


def test_draining_needs_its_permission(log_in: LogIn) -> None:
    worker, client = make_worker(), log_in("pause_queue")

    assert act(client, "drain", worker, model="worker").status_code == 403
    assert client.post(url("worker_do", worker.pk, "drain")).status_code == 403


def test_workers_cannot_be_deleted(admin_client: Client) -> None:
    worker = make_worker()

    assert act(admin_client, "delete_selected", worker, model="worker").status_code == 403
    assert admin_client.post(url("worker_delete", worker.pk), {"post": "yes"}).status_code == 403
    assert Worker.objects.exists()


def test_runs_are_listed_with_their_outcome_and_lead_to_their_job(admin_client: Client) -> None:
    job = backing_off_job()

    html = admin_client.get(url("jobrun_changelist")).content.decode()

    for text in ("Failed", "2.5 s", "ValueError", "w1", f'<a href="{url("job_change", job.pk)}">#{job.pk}</a>'):
        assert text in html
    assert SCRIPT not in html


def test_the_page_of_a_run_shows_its_traceback_escaped(admin_client: Client) -> None:
    backing_off_job()

    html = admin_client.get(url("jobrun_change", JobRun.objects.get().pk)).content.decode()

    assert f"Traceback: {ESCAPED}" in html
    assert SCRIPT not in html


@pytest.mark.parametrize(("model", "rows"), [("jobrun", JobRun), ("jobevent", JobEvent)], ids=["runs", "events"])
def test_runs_and_events_are_found_by_their_job(admin_client: Client, model: str, rows: Any) -> None:
    jobs = [dead_job(), dead_job()]
    Job.objects.all().retry()

    def found(term: object) -> list[int]:
        page = admin_client.get(url(f"{model}_changelist"), {"q": term})
        return [row.job_id for row in page.context["cl"].result_list]

    assert rows.objects.count() == 2
    assert found(jobs[0].pk) == [jobs[0].pk]
    assert found("order:7") == []


def test_the_events_say_who_did_what_and_why(admin_client: Client) -> None:
    job = dead_job()
    job.retry(actor=Actor("1", "bob"), reason=SCRIPT)
    operations.pause("mail")

    html = admin_client.get(url("jobevent_changelist")).content.decode()

    for text in ("bob retried", ESCAPED, f"#{job.pk}</a>", "The system paused", "mail"):
        assert text in html


@pytest.mark.urls(__name__)
def test_another_admin_site_leads_to_its_own_pages(admin_client: Client) -> None:
    job = dead_job()

    html = admin_client.get(f"/office/jobs/job/{job.pk}/change/").content.decode()
    response = admin_client.post(f"/office/jobs/job/{job.pk}/do/retry/")

    assert f'formaction="/office/jobs/job/{job.pk}/do/retry/"' in html
    assert "All runs" not in html
    assert response.headers["Location"] == f"/office/jobs/job/{job.pk}/change/"


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("model", ["jobrun", "jobevent"])
def test_a_site_without_jobs_has_no_links_to_them(admin_client: Client, model: str) -> None:
    job = dead_job()
    job.retry()

    html = admin_client.get(f"/history/jobs/{model}/").content.decode()

    assert f"#{job.pk}" in html
    assert "/jobs/job/" not in html


def test_queues_of_a_site_without_jobs_have_no_links_to_them() -> None:
    from jobs.admin import QueueAdmin

    assert QueueAdmin(Queue, ONLY_HISTORY).jobs_link(Queue(name="mail"), "pending", "7") == "7"


def test_the_app_loads_without_the_admin() -> None:
    program = (
        "import sys, django; from django.conf import settings;"
        "settings.configure(INSTALLED_APPS=['jobs'], DATABASES={'default': {'ENGINE': 'django.db.backends.postgresql'}});"
        "django.setup(); import jobs.operations, jobs.stats, jobs.reports, jobs.management.commands.jobs;"
        "from django.core.management import call_command; call_command('check');"
        "assert 'jobs.admin' not in sys.modules; assert 'django.contrib.admin' not in sys.modules"
    )

    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
