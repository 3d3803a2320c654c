"""The pages of workers: who is there, who is late or gone, what they run, and what Drain would have to wait for."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import path

from jobs import clock, stats
from jobs.admin import WorkerAdmin
from jobs.models import Job, Worker
from jobs.stats import workers
from tests.jobs import noop
from tests.leasing import claim, make_worker, settle
from tests.test_admin import act, ask, dead_job, running_job, told, url

pytestmark = pytest.mark.django_db

ONLY_WORKERS = admin.AdminSite(name="workers")
ONLY_WORKERS.register(Worker, WorkerAdmin)
urlpatterns = [path("admin/", admin.site.urls), path("workers/", ONLY_WORKERS.urls)]

LATE = {"heartbeat_at": clock.in_seconds(-125)}
DRAINING = {"draining_at": clock.now()}
GONE = {"heartbeat_at": clock.in_seconds(-600)}
STOPPED = {"stopped_at": clock.now()}


@pytest.fixture(autouse=True)
def _long_leases(settings: Any) -> None:
    """Who is late is not gone by the time the page is read, however busy the machine is."""
    settings.JOBS = {"LEASE_SECONDS": 300, "HEARTBEAT_SECONDS": 60}


def listed(client: Client, **query: Any) -> set[str]:
    return {worker.name for worker in client.get(url("worker_changelist"), query).context["cl"].result_list}


def listing(client: Client, **query: Any) -> str:
    return client.get(url("worker_changelist"), query).content.decode()


def page(client: Client, worker: Worker) -> str:
    return client.get(url("worker_change", worker.pk)).content.decode()


@pytest.fixture
def fleet(db: None) -> None:
    for name, values in {"live": {}, "late": LATE, "draining": DRAINING, "gone": GONE, "stopped": STOPPED}.items():
        make_worker(name, **values)


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, {"live", "late", "draining"}),
        ({"condition": "live"}, {"live"}),
        ({"condition": "late"}, {"late"}),
        ({"condition": "draining"}, {"draining"}),
        ({"condition": "gone"}, {"gone", "stopped"}),
    ],
    ids=["at work", "live", "late", "draining", "gone"],
)
def test_each_tab_lists_its_workers_and_the_first_leaves_out_who_is_gone(
    admin_client: Client, query: Any, names: set[str]
) -> None:
    assert listed(admin_client, **query) == names


@pytest.mark.usefixtures("fleet")
def test_the_tabs_say_how_many_there_are(admin_client: Client) -> None:
    tabs = admin_client.get(url("worker_changelist"), {"condition": "late"}).context["cl"].tabs

    counted = {str(tab["label"]): tab["count"] for tab in tabs}
    assert counted == {"At work": 3, "Live": 1, "Late": 1, "Draining": 1, "Gone": 2}
    assert [str(tab["label"]) for tab in tabs if tab["is_current"]] == ["Late"]


@pytest.mark.parametrize("condition", ["\0", "nobody", "stopped"])
def test_a_tab_that_is_none_leads_back(admin_client: Client, condition: str) -> None:
    response = admin_client.get(url("worker_changelist"), {"condition": condition})

    assert (response.status_code, response.headers["Location"]) == (302, url("worker_changelist") + "?e=1")


@pytest.mark.parametrize(
    ("values", "word", "tab"),
    [
        ({}, "Live", ""),
        (LATE, "Late", ""),
        (DRAINING, "Draining", ""),
        (GONE, "Gone", "gone"),
        (STOPPED, "Stopped", "gone"),
    ],
    ids=["live", "late", "draining", "gone", "stopped"],
)
def test_a_worker_is_shown_as_its_last_sign_of_life_says(
    admin_client: Client, values: Any, word: str, tab: str
) -> None:
    worker = make_worker("host:1:abc", queues=["mail", "crm"], kinds=["noop"], running=3, **values)

    for html in (listing(admin_client, condition=tab), page(admin_client, worker)):
        for text in ("host:1:abc", f"</span> {word}", "3 of 4", "mail, crm", " ago"):
            assert text in html
    assert "noop" in page(admin_client, worker)


def test_a_worker_of_all_queues_says_so(admin_client: Client) -> None:
    make_worker()

    assert ">all<" in listing(admin_client)


def test_the_uptime_of_who_is_gone_ends_with_the_last_sign_of_life(admin_client: Client) -> None:
    began = {"started_at": clock.in_seconds(-7_200)}
    make_worker("gone", **began, heartbeat_at=clock.in_seconds(-3_600))
    make_worker("stopped", **began, stopped_at=clock.in_seconds(-5_400))

    html = listing(admin_client, condition="gone")

    assert ">1 h<" in html
    assert ">30 min<" in html


def test_a_version_is_marked_that_the_newest_live_worker_has_not(admin_client: Client) -> None:
    old = make_worker("old", version="1.8.1", started_at=clock.in_seconds(-60))
    make_worker("new", version="1.8.2")
    make_worker("newer but gone", version="1.9", **GONE)

    html = listing(admin_client)

    assert ">1.8.1 !</span>" in html
    assert "1.8.2 !" not in html
    assert "The live worker that started last has 1.8.2." in page(admin_client, old)


def test_a_version_is_not_marked_where_nobody_lives(admin_client: Client) -> None:
    make_worker("gone", version="1.8.1", **GONE)

    assert "1.8.1 !" not in listing(admin_client, condition="gone")


@pytest.mark.parametrize(
    ("skew", "shown"), [(0.9, None), (1.5, "+1.5 s off"), (-90.0, "-90.0 s off")], ids=["little", "ahead", "behind"]
)
def test_a_clock_that_is_off_by_more_than_a_second_is_shown(
    admin_client: Client, skew: float, shown: str | None
) -> None:
    worker = make_worker(clock_skew=skew)

    for html in (listing(admin_client), page(admin_client, worker)):
        assert (" s off" in html) == (shown is not None)
        assert shown is None or shown in html


def test_the_list_leads_to_what_the_workers_run(admin_client: Client) -> None:
    make_worker("w1")
    jobs = [running_job() for _ in range(4)]
    Job.objects.filter(pk=jobs[3].pk).update(started_at=None)
    make_worker("idle")

    html = listing(admin_client)

    for job in jobs[:3]:
        assert f'<a href="{url("job_change", job.pk)}">{job}</a>' in html
    assert str(jobs[3]) not in html
    assert "and 1 more" not in html
    running_job()
    assert "and 1 more" in listing(admin_client)


def test_the_page_shows_what_a_worker_runs_and_what_it_has_claimed_ahead(admin_client: Client) -> None:
    worker = make_worker("w1")
    job = running_job()
    noop.enqueue()
    claim("w1", slots=0, ahead=10)

    html = page(admin_client, worker)

    assert f'<a href="{url("job_change", job.pk)}">{job}</a>' in html
    assert "queue busy, since" in html
    assert "1 job is claimed ahead" in html


def test_the_page_shows_the_newest_runs_of_the_worker(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, other = make_worker("w1"), make_worker("w2")
    job = dead_job()

    html = page(admin_client, worker)

    assert f'<a href="{url("job_change", job.pk)}">#{job.pk}</a>' in html
    assert "Discarded" in html
    assert "None of the newest 10,000 runs" in page(admin_client, other)
    noop.enqueue()
    settle(claim("w2")[0].lease)
    monkeypatch.setattr(workers, "WINDOW", 1)
    assert list(stats.recent_runs("w1", using="default")) == []


def test_a_page_asks_before_a_worker_is_drained_and_says_what_it_runs(admin_client: Client) -> None:
    worker = make_worker("w1")
    jobs = [running_job() for _ in range(11)]

    html = admin_client.get(url("worker_do", worker.pk, "drain")).content.decode()
    listed = ask(admin_client, "drain", worker, model="worker").content.decode()

    for text in (html, listed):
        assert "Running now: #" in text
        assert str(jobs[0]) in text
        assert "and 1 more" in text
    assert "Drain worker w1</button>" in html


def test_a_worker_that_runs_nothing_is_drained_without_a_warning(admin_client: Client) -> None:
    worker = make_worker("w1")

    assert "jobs-warning" not in admin_client.get(url("worker_do", worker.pk, "drain")).content.decode()


def test_a_worker_that_ended_while_it_was_looked_at_is_not_overlooked(admin_client: Client) -> None:
    worker = make_worker("w1", **STOPPED)

    response = act(admin_client, "drain", worker, model="worker")

    assert told(response) == ["Worker w1 was left alone: it has stopped, or was asked before."]


@pytest.mark.urls(__name__)
def test_a_site_with_workers_alone_has_no_links_to_jobs(admin_client: Client) -> None:
    worker = make_worker("w1")
    job = running_job()
    dead_job()

    for address in ("/workers/jobs/worker/", f"/workers/jobs/worker/{worker.pk}/change/"):
        html = admin_client.get(address).content.decode()
        assert str(job) in html
        assert "/jobs/job" not in html
