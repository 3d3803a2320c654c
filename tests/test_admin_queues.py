"""The pages of queues: what waits, what is held and by whom, who serves them, and what it costs to see that."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import path

from jobs import clock, operations, stats
from jobs.admin import QueueAdmin
from jobs.models import Job, JobEvent, Queue
from jobs.operations import Actor
from jobs.stats import counts, queues, recent
from tests.jobs import echo, noop
from tests.leasing import BROKEN, claim, make_worker, settle
from tests.plans import assert_cheap, seed
from tests.test_admin import ESCAPED, SCRIPT, backing_off_job, dead_job, running_job, url

pytestmark = pytest.mark.django_db

ONLY_QUEUES = admin.AdminSite(name="queues")
ONLY_QUEUES.register(Queue, QueueAdmin)
urlpatterns = [path("admin/", admin.site.urls), path("queues/", ONLY_QUEUES.urls)]


def page(client: Client, name: str) -> str:
    queue, _ = Queue.objects.get_or_create(name=name)
    return client.get(url("queue_change", queue.pk)).content.decode()


def figures(client: Client, name: str) -> dict[str, str]:
    queue, _ = Queue.objects.get_or_create(name=name)
    shown = client.get(url("queue_change", queue.pk)).context["page"]["figures"]
    return {str(label): str(value).partition(">")[2].removesuffix("</a>") or str(value) for label, value in shown}


def load(name: str) -> stats.Load:
    Queue.objects.get_or_create(name=name)
    return stats.loads([name], using="default")[name]


def aged(job: Job, seconds: float, **more: Any) -> Job:
    Job.objects.filter(pk=job.pk).update(run_at=clock.in_seconds(-seconds), **more)
    return job


def test_the_list_says_what_waits_and_runs_in_each_queue_and_who_serves_it(admin_client: Client) -> None:
    for name in ("busy", "idle"):
        Queue.objects.create(name=name)
    running_job()
    aged(noop.using(queue="busy").enqueue(), 2 * 3_600 + 320)
    make_worker("w1", queues=["busy"])

    html = admin_client.get(url("queue_changelist")).content.decode()
    busy, idle = html.partition("idle</a>")[::2]

    assert f'<a href="{url("job_changelist")}?queue=busy&amp;state=pending">1</a>' in busy
    assert f'<a href="{url("job_changelist")}?queue=busy&amp;state=running">1</a>' in busy
    assert "2 h 5 min ago" in busy
    assert ">1</td>" in busy
    assert "</span> none" in idle


def test_the_oldest_job_is_found_behind_those_of_better_priority() -> None:
    aged(noop.using(queue="mail", priority=50).enqueue(), 10)
    starved = aged(noop.using(queue="mail", priority=-50).enqueue(), 1_000)
    aged(noop.using(queue="mail", priority=-50).enqueue(), 900)
    aged(noop.using(queue="other").enqueue(), 5_000)

    found = load("mail")

    assert found.oldest is not None
    assert found.oldest.id == starved.pk
    assert 1_000 <= found.oldest.due_for.total_seconds() < 1_060
    assert [head.priority for head in found.heads] == [50, -50]


def test_a_job_whose_worker_died_waits_too() -> None:
    suspect = aged(noop.using(queue="mail").enqueue(), 60, losses=1)

    found = load("mail")

    assert str(found.pending) == "1"
    assert found.oldest is not None
    assert found.oldest.id == suspect.pk


def test_what_waits_and_runs_is_counted_to_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MOST", 2)
    for _ in range(3):
        running_job()
    for _ in range(3):
        noop.using(queue="busy").enqueue()

    found = load("busy")

    assert str(found.pending) == "2+"
    assert found.running.is_capped


def test_nobody_waits_in_an_empty_queue() -> None:
    found = load("mail")

    assert (found.oldest, found.heads, str(found.pending), found.slots) == (None, (), "0", 0)


def test_workers_that_are_gone_or_drain_or_claim_elsewhere_do_not_serve_a_queue() -> None:
    make_worker("all"), make_worker("mail", queues=["mail"]), make_worker("other", queues=["other"])
    make_worker("gone", heartbeat_at=clock.in_seconds(-900)), make_worker("draining", draining_at=clock.now())

    found = load("mail")

    assert [worker.name for worker in found.serving] == ["all", "mail"]
    assert found.slots == 8


def test_the_page_says_who_paused_the_queue_and_why_and_until_when(admin_client: Client) -> None:
    noop.using(queue="mail").enqueue()
    operations.pause("mail", actor=Actor("1", "bob"), reason=SCRIPT)

    html = page(admin_client, "mail")

    assert "Paused by bob at" in html
    assert "It stays paused until somebody resumes it." in html
    assert ESCAPED in html
    assert SCRIPT not in html
    assert figures(admin_client, "mail")["Held"] == "1"
    Queue.objects.update(resume_at="2222-02-02T22:22:00Z")
    assert "It resumes by itself at" in page(admin_client, "mail")


def test_the_page_has_the_figures_of_its_queue_and_of_no_other(admin_client: Client) -> None:
    dead_job(), backing_off_job(), running_job()
    make_worker("w1", queues=["busy"], running=1)

    assert figures(admin_client, "busy") == {
        "Oldest due": "-",
        "Pending": "0",
        "Running": "1 of 4 slots",
        "Backing off": "0",
        "Dead": "0",
    }
    assert figures(admin_client, "dying")["Dead"] == "1"
    assert figures(admin_client, "failing")["Backing off"] == "1"


def test_figures_that_are_windows_say_so(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    dead_job(), dead_job()
    assert "of all queues" not in page(admin_client, "dying")

    monkeypatch.setattr(queues, "WINDOW", 2)

    assert "of all queues" in page(admin_client, "dying")
    assert figures(admin_client, "dying")["Dead"] == "2+"


def test_the_page_ranks_what_waits_and_why_jobs_died(admin_client: Client) -> None:
    for job in (noop, noop, echo):
        job.using(queue="mail").enqueue(1)
    for _ in range(2):
        noop.using(queue="dying", max_attempts=1).enqueue()
        (claimed,) = claim(queues=["dying"])
        settle(claimed.lease, BROKEN, facts=claimed)
    dead_job()

    assert "<span>noop</span>" in page(admin_client, "mail")
    queue = Queue.objects.get(name="mail")
    view = stats.view_of_queue(queue)
    assert view.kinds == [("noop", 2), ("echo", 1)]
    dying = stats.view_of_queue(Queue.objects.create(name="dying"))
    assert dying.errors == [("ValueError", 2), ("It was hopeless.", 1)]


def test_the_page_lists_the_next_jobs_and_the_oldest_of_other_priorities(admin_client: Client) -> None:
    first = [noop.using(queue="mail", priority=9).enqueue() for _ in range(6)]
    starved = aged(noop.using(queue="mail").enqueue(), 3 * 3_600 + 20)
    Queue.objects.create(name="mail")

    view = stats.view_of_queue(Queue.objects.get())

    assert [job.id for job in view.first] == [job.pk for job in first[:5]]
    assert [job.id for job in view.left_behind] == [starved.pk]
    html = page(admin_client, "mail")
    assert f'<a href="{url("job_change", starved.pk)}">#{starved.pk} noop</a>' in html
    assert 'priority 0, due <span class="jobs-nowrap">3 h ago</span>' in html


def test_the_page_shows_what_people_did_to_the_queue(admin_client: Client) -> None:
    operations.pause("mail", actor=Actor("1", "bob"), reason="Upgrade")
    operations.pause("other")

    html = page(admin_client, "mail")

    assert "bob paused queue mail" in html
    assert "Upgrade" in html
    assert "queue other" not in html
    assert f'href="{url("jobevent_changelist")}?queue=mail"' in html


def test_the_page_shows_what_was_done_by_way_of_a_schedule_that_is_deleted(admin_client: Client) -> None:
    JobEvent.objects.create(at=clock.now(), kind=JobEvent.Kind.PAUSED, queue="mail", cron_id=404)

    assert "The system paused queue mail, schedule #404" in page(admin_client, "mail")


def test_the_page_leads_to_its_workers(admin_client: Client) -> None:
    worker = make_worker("host:1:abc", running=3)

    html = page(admin_client, "mail")

    assert f'<a href="{url("worker_change", worker.pk)}">host:1:abc</a>' in html
    assert '<meter min="0" max="4" value="3"' in html


@pytest.mark.urls(__name__)
def test_a_site_with_queues_alone_has_no_links_to_what_it_lacks(admin_client: Client) -> None:
    job = noop.using(queue="mail").enqueue()
    make_worker("host:1:abc")
    queue = Queue.objects.create(name="mail")

    html = admin_client.get(f"/queues/jobs/queue/{queue.pk}/change/").content.decode()

    assert f"#{job.pk} noop" in html
    for model in ("job/", "worker/", "jobevent/"):
        assert f"/jobs/{model}" not in html


@pytest.mark.usefixtures("crowd")
def test_looking_at_a_queue_reads_little_of_a_crowded_table(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(1_000, queue="bulk", priority=-3)
    monkeypatch.setattr(counts, "MOST", 100)
    monkeypatch.setattr(queues, "WINDOW", 100)
    monkeypatch.setattr(recent, "WINDOW", 100)
    queue = Queue.objects.create(name="bulk")

    assert_cheap(lambda: stats.view_of_queue(queue))


def test_the_page_tells_how_the_newest_runs_of_the_queue_went(admin_client: Client) -> None:
    queue = Queue.objects.create(name="mail")
    for _ in range(5):
        noop.using(queue="mail").enqueue()
        noop.enqueue()
    for claimed in claim():
        settle(claimed.lease, duration=0.4)

    html = admin_client.get(url("queue_change", queue.pk)).content.decode()

    assert html.count('<rect class="jobs-bar-good"') == 5
    assert "Took, median</dt><dd>400 ms" in html
    assert f'<a href="{url("job_changelist")}?queue=mail">All these jobs</a>' in html


def test_of_a_queue_that_hardly_ran_no_runs_are_told(admin_client: Client) -> None:
    assert (
        "Recent runs"
        not in admin_client.get(url("queue_change", Queue.objects.create(name="mail").pk)).content.decode()
    )
