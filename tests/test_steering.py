"""What is done to rows from a list and from a page, where the rows or what is typed are not as they should be."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings

from jobs.models import Job, JobEvent, Queue, Worker
from tests.jobs import noop
from tests.leasing import make_worker
from tests.scheduling import make
from tests.test_admin import act, ask, dead_job, told, url

pytestmark = pytest.mark.django_db

GONE = "Nothing of what was chosen is there any more."


def test_what_was_ticked_and_has_moved_on_since_is_told_of(admin_client: Client) -> None:
    jobs = [dead_job(), dead_job()]
    ticked = {"action": "retry", "_selected_action": [job.pk for job in jobs], "index": 0, "confirmed": "yes"}
    jobs[0].retry()

    response = admin_client.post(url("job_changelist") + "?state=dead", ticked)

    assert told(response)[0] == "1 job is pending again."
    assert "1 job was left alone: its state does not allow it" in told(response)[1]


@pytest.mark.parametrize("do", [ask, act], ids=["ask", "act"])
@pytest.mark.parametrize(
    ("make_row", "action"),
    [
        (dead_job, "retry"),
        (make, "enable"),
        (make_worker, "drain"),
        (lambda: Queue.objects.create(name="mail"), "pause"),
    ],
    ids=["job", "cronjob", "worker", "queue"],
)
def test_what_was_ticked_and_is_deleted_since_is_told_of(
    admin_client: Client, make_row: Any, action: str, do: Any
) -> None:
    row = make_row()
    type(row).objects.filter(pk=row.pk).delete()

    response = do(admin_client, action, row, model=row._meta.model_name)

    assert response.status_code == 302
    assert told(response) == [GONE]
    assert not JobEvent.objects.filter(kind__in=["retried", "paused", "drained", "enabled"]).exists()


def test_a_worker_that_stopped_since_it_was_ticked_is_told_of(admin_client: Client) -> None:
    worker = make_worker()
    Worker.objects.update(stopped_at=worker.started_at)

    assert "it has stopped" in told(act(admin_client, "drain", worker, model="worker"))[0]


@pytest.mark.parametrize("pk", ["#1", "# 1", "1.0", "-1", "\0", "", "9" * 19])
def test_a_ticked_row_without_an_id_is_a_bad_request(admin_client: Client, pk: str) -> None:
    ticked = {"action": "retry", "_selected_action": [pk], "index": 0}

    assert admin_client.post(url("job_changelist"), ticked).status_code == 400


@pytest.mark.parametrize("year", ["9001", "9999"])
def test_a_time_that_cannot_be_stored_is_refused_where_it_is_typed(admin_client: Client, year: str) -> None:
    moment, job, queue = f"{year}-12-31T23:59", noop.enqueue(), Queue.objects.create(name="mail")

    postponed = admin_client.post(url("job_do", job.pk, "postpone"), {"run_at": moment})
    paused = admin_client.post(url("queue_do", queue.pk, "pause"), {"resume_at": moment})

    for response in (postponed, paused):
        assert "Give a year up to 9000." in response.content.decode()
    assert Job.objects.get().state == "pending"
    assert Queue.objects.get(name="mail").paused_at is None


@pytest.mark.parametrize("depth", [101, 900, 5_000, 200_000])
def test_json_that_is_nested_too_deep_is_refused_where_it_is_typed(admin_client: Client, depth: int) -> None:
    deep = '{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
    job = dead_job()
    Job.objects.filter(pk=job.pk).update(kind="nobody.knows")

    schedule = admin_client.post(url("cronjob_add"), {"name": "deep", "kind": "noop", "payload": deep})
    copy = admin_client.post(url("job_add") + f"?copy={job.pk}", {"argument-payload": deep})

    for response in (schedule, copy):
        html = response.content.decode()
        assert "This is nested deeper than 100 levels" in html or "This is not JSON" in html
    assert Job.objects.count() == 1


@pytest.mark.parametrize(("model", "field"), [("jobrun", "job"), ("job", "cron")])
def test_a_nul_in_an_autocompletion_finds_nothing(admin_client: Client, model: str, field: str) -> None:
    noop.enqueue(), make()
    asked = {"app_label": "jobs", "model_name": model, "field_name": field, "term": "\0"}

    response = admin_client.get("/admin/autocomplete/", asked)

    assert response.json()["results"] == []


@pytest.mark.skipif(connection.vendor == "sqlite", reason="A check refuses SQLite without zones.")
def test_a_time_is_taken_where_the_site_has_no_zones(admin_client: Client) -> None:
    queue, job = Queue.objects.create(name="mail"), noop.enqueue()
    moment = "2222-02-02T22:22"

    with override_settings(USE_TZ=False, TIME_ZONE="Europe/Berlin"):
        admin_client.post(url("queue_do", queue.pk, "pause"), {"resume_at": moment})
        admin_client.post(url("job_do", job.pk, "postpone"), {"run_at": moment})

    queue.refresh_from_db()
    job.refresh_from_db()
    assert queue.resume_at == job.run_at
    assert f"{job.run_at:%Y-%m-%d %H:%M %Z}" == "2222-02-02 21:22 UTC"
