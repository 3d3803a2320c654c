"""The page of events: sentences that lead to what they are about, filters with closed lists, and a way on."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import path
from django.utils.html import strip_tags

from jobs import clock, stats
from jobs.admin import JobEventAdmin, JobRunAdmin
from jobs.models import CronJob, JobEvent, JobRun, Queue
from jobs.operations import Actor
from jobs.stats import counts, events
from tests.jobs import noop
from tests.leasing import make_worker
from tests.test_admin import ESCAPED, SCRIPT, dead_job, url

pytestmark = pytest.mark.django_db

ONLY_EVENTS = admin.AdminSite(name="events")
ONLY_EVENTS.register(JobEvent, JobEventAdmin)
urlpatterns = [path("admin/", admin.site.urls), path("events/", ONLY_EVENTS.urls)]

BOB = Actor("1", "bob")


def listed(client: Client, **query: Any) -> list[JobEvent]:
    return list(client.get(url("jobevent_changelist"), query).context["cl"].result_list)


def listing(client: Client, **query: Any) -> str:
    html = client.get(url("jobevent_changelist"), query).content.decode()
    return html.partition('id="result_list"')[2]


def make(**values: Any) -> JobEvent:
    return JobEvent.objects.create(**({"at": clock.now(), "kind": JobEvent.Kind.RETRIED} | values))


def make_schedule(name: str = "nightly") -> CronJob:
    return CronJob.objects.create(name=name, kind="noop", every=3600)


@pytest.mark.parametrize("kind", JobEvent.Kind.values)
def test_every_kind_of_event_has_a_sentence(kind: str) -> None:
    event = JobEvent(kind=kind, job_id=7, actor_label="bob")

    assert kind in events.SENTENCES
    assert "job #7" in stats.sentence(event)
    assert "bob" in stats.sentence(event)


def test_an_event_that_a_newer_version_wrote_is_shown_too(admin_client: Client) -> None:
    make(kind="teleported", queue="mail", actor_label="bob")

    assert "bob did something to queue mail" in listing(admin_client)


def test_a_sentence_leads_to_what_it_is_about(admin_client: Client) -> None:
    job, queue, worker, nightly = noop.enqueue(), Queue.objects.create(name="mail"), make_worker("w1"), make_schedule()
    for subject in ({"job": job}, {"queue": "mail"}, {"worker": "w1"}, {"cron": nightly, "job": job}):
        make(**subject)

    html = listing(admin_client)

    assert f'<a href="{url("job_change", job.pk)}">job #{job.pk}</a>' in html
    assert f'<a href="{url("queue_change", queue.pk)}">queue mail</a>' in html
    assert f'<a href="{url("worker_change", worker.pk)}">worker w1</a>' in html
    leads_to_both = f'job #{job.pk}</a> of <a href="{url("cronjob_change", nightly.pk)}">schedule nightly</a>'
    assert leads_to_both in html


def test_what_is_gone_is_named_and_not_linked(admin_client: Client) -> None:
    make(cron_id=404), make(queue="gone"), make(worker="w9")

    html = listing(admin_client)

    for text in ("schedule #404", "queue gone", "worker w9"):
        assert text in html
    assert "/404/" not in html


def test_all_that_others_wrote_is_escaped(admin_client: Client) -> None:
    Queue.objects.create(name=SCRIPT)
    event = make(queue=SCRIPT, actor_label=SCRIPT, reason=SCRIPT, worker=SCRIPT, cron=make_schedule(SCRIPT))

    for html in (listing(admin_client), admin_client.get(url("jobevent_change", event.pk)).content.decode()):
        assert SCRIPT not in html
        assert html.count(ESCAPED) >= 5


def test_particulars_say_what_changed_which_slots_and_why(admin_client: Client) -> None:
    job = noop.enqueue()
    job.reroute(queue="mail", actor=BOB, reason="Too slow")
    first, last = "2026-03-29T00:30:00+00:00", "2026-03-29T02:30:00+00:00"
    make(kind="skipped", cron=make_schedule(), slots={"first": first, "last": last, "count": 3})
    make(kind="skipped", cron=make_schedule("once"), slots={"first": first, "last": first, "count": 1})

    html = strip_tags(listing(admin_client))

    for text in (
        "Queue: default → mail\nToo slow",
        "3 slots, from 2026-03-29 00:30 to 2026-03-29 02:30",
        "The slot of 2026-03-29 00:30",
        "The system skipped slots of schedule once",
    ):
        assert text in html


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ({"kind": "paused"}, ["queue"]),
        ({"queue": "mail"}, ["queue"]),
        ({"worker": "w1"}, ["worker"]),
        ({"kind": "retried", "worker": "w1"}, ["worker"]),
        ({"kind": "teleported"}, []),
        ({"schedule": "404"}, []),
    ],
    ids=str,
)
def test_the_filters_show_those_events_and_no_others(admin_client: Client, query: Any, reasons: list[str]) -> None:
    make(kind="paused", queue="mail", reason="queue")
    make(worker="w1", reason="worker")
    make(cron=make_schedule(), reason="schedule")

    assert [event.reason for event in listed(admin_client, **query)] == reasons


def test_the_events_of_a_schedule_are_found_however_old(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    nightly = make_schedule()
    old = make(cron=nightly, queue="mail")
    make()
    monkeypatch.setattr(events, "WINDOW", 1)

    assert listed(admin_client, schedule=nightly.pk) == [old]
    assert listed(admin_client, queue="mail") == []


def test_the_filters_offer_what_there_is(admin_client: Client) -> None:
    Queue.objects.create(name="a&b"), make_worker("w1")
    nightly = make_schedule()

    html = admin_client.get(url("jobevent_changelist")).content.decode()

    for query in ("queue=a%26b", "worker=w1", f"schedule={nightly.pk}", "kind=payload_viewed"):
        assert f'href="?{query}"' in html
    assert "queue (newest 10,000 events)" in html


@pytest.mark.parametrize(
    "query", [{"kind": "\0"}, {"queue": "\0"}, {"schedule": "x"}, {"after": "x"}, {"after": "9" * 30}], ids=repr
)
def test_a_filter_that_means_nothing_leads_back(admin_client: Client, query: Any) -> None:
    response = admin_client.get(url("jobevent_changelist"), query)

    assert (response.status_code, response.headers["Location"]) == (302, url("jobevent_changelist") + "?e=1")


@pytest.mark.parametrize(("model", "admin_class"), [("jobevent", JobEventAdmin), ("jobrun", JobRunAdmin)])
def test_a_list_that_is_longer_than_is_counted_goes_on(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, model: str, admin_class: Any
) -> None:
    monkeypatch.setattr(counts, "MOST", 2)
    monkeypatch.setattr(admin_class, "list_per_page", 2)
    for _ in range(5):
        dead_job().discard()
    rows: Any = JobEvent if model == "jobevent" else JobRun

    seen, place = [], "?"
    while place:
        changelist = admin_client.get(url(f"{model}_changelist") + place).context["cl"]
        seen += [row.pk for row in changelist.result_list]
        place = changelist.next_url

    assert seen == list(rows.objects.order_by("-pk").values_list("pk", flat=True))
    assert changelist.first_url == "?"


@pytest.mark.urls(__name__)
def test_a_site_with_events_alone_has_no_links_to_what_it_lacks(admin_client: Client) -> None:
    Queue.objects.create(name="mail"), make_worker("w1")
    make(job=noop.enqueue(), queue="mail", worker="w1", cron=make_schedule())

    html = admin_client.get("/events/jobs/jobevent/").content.decode()

    assert "queue mail" in html
    for model in ("job", "queue", "worker", "cronjob"):
        assert f"/jobs/{model}/" not in html
