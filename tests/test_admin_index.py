"""The page of the app: a line of figures, of those models alone that are there and may be seen."""

from __future__ import annotations

from typing import Any

import django
import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client, override_settings
from django.urls import path

from jobs import clock, operations, stats
from jobs.admin import JobAdmin, QueueAdmin
from jobs.models import CronJob, Job, Queue
from jobs.templatetags import jobs_overview
from tests.jobs import noop
from tests.leasing import make_worker
from tests.test_admin import dead_job, running_job, url
from tests.test_admin_list import needs_postgresql, sleep

pytestmark = pytest.mark.django_db

ONLY_QUEUES = admin.AdminSite(name="queues")
ONLY_QUEUES.register(Queue, QueueAdmin)
WITH_SCHEDULES = admin.AdminSite(name="schedules")
WITH_SCHEDULES.register(CronJob)
WITH_SCHEDULES.register(Job, JobAdmin)
urlpatterns = [
    path("admin/", admin.site.urls),
    path("queues/", ONLY_QUEUES.urls),
    path("schedules/", WITH_SCHEDULES.urls),
]


def figures(client: Client, site: str = "admin") -> dict[str, str]:
    response = client.get(f"/{site}/jobs/")
    assert response.status_code == 200
    return {str(each["label"]): str(each["figure"]) for each in response.context["figures"]}


def make_schedule(name: str, **values: Any) -> CronJob:
    row = CronJob.objects.create(name=name, kind="noop", every=3600, enabled=values.pop("enabled", True))
    CronJob.objects.filter(pk=row.pk).update(**values)
    return row


@override_settings(JOBS={"LEASE_SECONDS": 300, "HEARTBEAT_SECONDS": 60})
def test_the_page_says_how_things_stand_and_leads_there(admin_client: Client) -> None:
    noop.enqueue(), running_job(), dead_job()
    make_worker("live"), make_worker("late", heartbeat_at=clock.in_seconds(-125))
    operations.pause("mail")

    assert figures(admin_client) == {
        "Pending": "1",
        "Running": "1",
        "Dead": "1",
        "Live workers": "1",
        "Late worker": "1",
        "Paused queue": "1",
    }
    html = admin_client.get("/admin/jobs/").content.decode()
    assert f'href="{url("job_changelist")}?state=dead"' in html
    assert f'href="{url("worker_changelist")}?condition=late"' in html
    assert '<link href="/static/jobs/admin.css"' in html


def test_what_is_well_is_not_said_but_that_nobody_lives_is(admin_client: Client) -> None:
    assert figures(admin_client) == {"Pending": "0", "Running": "0", "Dead": "0", "Live workers": "0"}


@pytest.mark.urls(__name__)
def test_schedules_that_are_late_or_stopped_are_counted(admin_client: Client) -> None:
    make_schedule("late", next_run_at=clock.in_seconds(-3_600))
    make_schedule("failed", error="boo", next_run_at=clock.in_seconds(-3_600))
    make_schedule("also failed", error="boo")
    make_schedule("in time", next_run_at=clock.in_seconds(-30))
    make_schedule("disabled", next_run_at=clock.in_seconds(-3_600), enabled=False)

    shown = figures(admin_client, "schedules")

    assert (shown["Late schedule"], shown["Schedules with errors"]) == ("1", "2")


@pytest.mark.urls(__name__)
def test_schedules_that_are_well_are_not_counted(admin_client: Client) -> None:
    make_schedule("in time", next_run_at=clock.in_seconds(30))

    assert set(figures(admin_client, "schedules")) == {"Pending", "Running", "Dead"}


@pytest.mark.urls(__name__)
def test_another_admin_site_has_the_figures_of_its_own_models(admin_client: Client) -> None:
    assert figures(admin_client, "queues") == {}
    operations.pause("mail"), operations.pause("crm")

    assert figures(admin_client, "queues") == {"Paused queues": "2"}
    assert 'href="/queues/jobs/queue/"' in admin_client.get("/queues/jobs/").content.decode()


def test_whoever_may_not_see_jobs_sees_no_figures_of_them(client: Client) -> None:
    user = User.objects.create_user("carol", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_worker"))
    client.force_login(user)

    assert figures(client) == {"Live workers": "0"}


def test_other_pages_of_the_site_have_no_figures(admin_client: Client) -> None:
    assert "jobs-overview" not in admin_client.get("/admin/").content.decode()
    assert "jobs-overview" not in admin_client.get("/admin/auth/").content.decode()


@needs_postgresql
def test_figures_that_take_too_long_cost_the_page_nothing_else(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.stats.limits.READ_SECONDS", 0.05)
    monkeypatch.setattr(stats, "counts_by_state", lambda **_: sleep())

    response = admin_client.get("/admin/jobs/")

    assert response.status_code == 200
    assert "took too long" in response.content.decode()
    assert "Workers" in response.content.decode()
    assert connection.in_atomic_block


def test_a_site_without_nonces_gets_none() -> None:
    assert "nonce" not in str(jobs_overview.jobs_styles({}))


@pytest.mark.skipif(django.VERSION < (6, 1), reason="Before, Django had no nonces for style sheets.")
def test_the_style_sheet_has_the_nonce_of_the_site() -> None:
    assert 'nonce="abc"' in jobs_overview.jobs_styles({"csp_nonce": "abc"})
