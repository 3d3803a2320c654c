"""The list of jobs as a file."""

from __future__ import annotations

import asyncio
import csv
import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import islice
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission, User
from django.db import connection, connections
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from jobs import stats
from jobs.clock import aware
from jobs.exceptions import TooSlow
from jobs.leases import Lease
from jobs.models import Job
from jobs.stats import ShownState, exporting
from tests.jobs import echo, noop
from tests.leasing import silence
from tests.test_admin import LogIn, backing_off_job, dead_job, log_in, running_job, url

__all__ = ["log_in"]  # a fixture

pytestmark = pytest.mark.django_db


def export(client: Client, form: str = "ndjson", **filters: str) -> str:
    response: Any = client.get(url("job_export", form), filters)
    assert isinstance(response, StreamingHttpResponse)
    return response.getvalue().decode()


def rows(client: Client, **filters: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export(client, **filters).splitlines()]


def ids(client: Client, **filters: str) -> list[int]:
    return [row["id"] for row in rows(client, **filters)]


def test_a_job_is_a_line_of_json(admin_client: Client) -> None:
    job = noop.using(queue="mail", priority=3, unique_key="order:7").enqueue()

    assert rows(admin_client) == [
        {
            "id": job.pk,
            "kind": "noop",
            "queue": "mail",
            "priority": 3,
            "state": "pending",
            "attempt": 0,
            "max_attempts": 8,
            "enqueued_at": aware(job.enqueued_at).isoformat(),
            "run_at": aware(job.run_at).isoformat(),
            "started_at": None,
            "finished_at": None,
            "expires_at": None,
            "worker": "",
            "unique_key": "order:7",
            "schedule": None,
            "scheduled_for": None,
            "copied_from": None,
            "error": "",
        }
    ]


def test_a_job_is_a_row_of_csv_below_the_names_of_the_columns(admin_client: Client) -> None:
    job = dead_job()

    (row,) = csv.DictReader(StringIO(export(admin_client, "csv"), newline=""))

    assert tuple(row) == stats.EXPORTED
    assert (row["id"], row["state"], row["unique_key"], row["error"]) == (str(job.pk), "dead", "", job.error)
    assert row["finished_at"] == aware(job.finished_at).isoformat()


def test_of_nothing_there_is_the_head_of_csv_only(admin_client: Client) -> None:
    assert export(admin_client, "csv") == ",".join(stats.EXPORTED) + "\r\n"
    assert export(admin_client) == ""


@pytest.mark.parametrize(
    "start", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff20A"], ids=ascii
)
def test_no_spreadsheet_takes_a_text_for_a_formula(admin_client: Client, start: str) -> None:
    dead_job()
    Job.objects.update(error=start, priority=-5)

    (row,) = csv.DictReader(StringIO(export(admin_client, "csv"), newline=""))

    assert (row["error"], row["priority"]) == (f"'{start}", "-5")


def test_neither_arguments_nor_results_are_in_it(admin_client: Client) -> None:
    echo.enqueue(value="hunter2")

    assert "hunter2" not in export(admin_client) + export(admin_client, "csv")


@pytest.mark.parametrize("state", [None, *ShownState], ids=str)
def test_every_chunk_goes_on_where_the_last_one_ended(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, state: ShownState | None
) -> None:
    monkeypatch.setattr(exporting, "CHUNK", 2)
    for priority in (0, 5, 5):
        noop.using(priority=priority).enqueue()
        noop.using(delay=60).enqueue()
        backing_off_job()
        running_job()
        dead_job()
        noop.enqueue().cancel()
    filters = {} if state is None else {"state": str(state)}
    jobs = Job.objects.all() if state is None else stats.in_shown_state(Job.objects.all(), state)

    exported = ids(admin_client, **filters)

    assert sorted(exported) == sorted(jobs.values_list("pk", flat=True))
    assert state is None or exported == list(jobs.order_by(*state.order).values_list("pk", flat=True))


@pytest.mark.skipif(connection.vendor == "sqlite", reason="A check refuses SQLite without zones.")
def test_the_hour_that_comes_twice_in_autumn_is_exported_once(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(exporting, "CHUNK", 1)
    first = datetime(2222, 10, 27, 0, 10, tzinfo=UTC)
    jobs = [noop.using(run_at=first + timedelta(minutes=minutes)).enqueue() for minutes in (0, 30, 70)]
    settings.USE_TZ, settings.TIME_ZONE = False, "Europe/Berlin"

    selection = stats.freeze({"state": "scheduled"}, ShownState, using="default")
    exported = [row["id"] for rows in islice(stats.exported(selection, using="default"), 5) for row in rows]

    assert exported == [job.pk for job in jobs]


def test_no_others_are_left_out_where_the_last_one_moves_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "CHUNK", 1)
    jobs = [noop.using(delay=delay).enqueue() for delay in (60, 120, 180)]

    chunks = stats.exported(stats.freeze({"state": "scheduled"}, ShownState, using="default"), using="default")
    (row,) = next(chunks)
    Job.objects.filter(pk=row["id"]).update(run_at=jobs[2].run_at + timedelta(seconds=60))

    assert [row["id"] for rows in chunks for row in rows] == [jobs[1].pk, jobs[2].pk, jobs[0].pk]


def test_pending_jobs_that_workers_died_of_are_in_their_place_too(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "CHUNK", 2)
    jobs = [noop.using(priority=priority).enqueue() for priority in (5, 5, 0, 0, 0, -5, -5)]
    Job.objects.filter(pk__in=[job.pk for job in jobs[::2]]).update(losses=1)

    assert ids(admin_client, state="pending") == [job.pk for job in jobs]


def test_the_filters_of_the_list_hold(admin_client: Client) -> None:
    mail = noop.using(queue="mail").enqueue()
    echo.enqueue(1)
    died = dead_job()

    assert ids(admin_client, queue="mail") == [mail.pk]
    assert ids(admin_client, q=str(died.pk)) == [died.pk]
    assert ids(admin_client, state="dead", error=stats.signature_of(died.error)) == [died.pk]


def test_what_is_claimed_and_waits_for_its_slot_is_among_the_running(admin_client: Client) -> None:
    job = running_job()
    Job.objects.update(started_at=None)

    assert ids(admin_client, state="running") == [job.pk]


def test_a_file_has_all_that_match_wherever_it_is_asked_for(admin_client: Client) -> None:
    first, second = noop.enqueue(), noop.enqueue()

    assert ids(admin_client, after=str(second.pk)) == [first.pk, second.pk]


def test_each_chunk_is_read_in_a_few_statements(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "CHUNK", 2)
    for _ in range(4):
        dead_job()

    with CaptureQueriesContext(connection) as queries:
        export(admin_client, state="dead")

    reads = [query for query in queries if 'FROM "jobs_job"' in query["sql"]]
    # The largest id, two full chunks and an empty one.
    assert len(reads) == 4


def test_what_takes_too_long_ends_the_file_before_its_end(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(*_: Any, **__: Any) -> Any:
        raise TooSlow

    monkeypatch.setattr(exporting, "patience", too_slow)

    # Not as if that had been all.
    with pytest.raises(TooSlow):
        export(admin_client)


def test_the_file_is_called_after_the_state_and_the_day(admin_client: Client) -> None:
    response = admin_client.get(url("job_export", "csv"), {"state": "dead"})

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="jobs-dead-2')


@pytest.mark.skipif(connection.vendor == "sqlite", reason="A check refuses SQLite without zones.")
def test_a_site_without_zones_exports_too(admin_client: Client, settings: Any) -> None:
    job = dead_job()
    settings.USE_TZ = False

    (row,) = rows(admin_client, state="dead")

    assert row["finished_at"] == aware(job.finished_at).isoformat()


def test_a_filter_that_means_nothing_leads_back_to_the_list(admin_client: Client) -> None:
    response = admin_client.get(url("job_export", "csv"), {"state": "lost"})

    assert response["Location"] == f"{url('job_changelist')}?e=1"


def test_an_unknown_format_is_not_found(admin_client: Client) -> None:
    assert admin_client.get(url("job_export", "xls")).status_code == 404


@pytest.mark.parametrize(
    ("codenames", "code"), [((), 403), (("view_job",), 403), (("export_job",), 403), (("view_job", "export_job"), 200)]
)
def test_whoever_exports_may_look_as_well(client: Client, codenames: tuple[str, ...], code: int) -> None:
    user = User.objects.create_user("alice", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)

    assert client.get(url("job_export", "csv")).status_code == code


def test_the_list_offers_it_with_its_filters_to_whoever_may(log_in: LogIn) -> None:
    noop.using(queue="mail").enqueue()
    address = f"{url('job_changelist')}?queue=mail&p=1"

    offered = log_in("view_job", "export_job").get(address).content.decode()

    assert f'href="{url("job_export", "csv")}?queue=mail"' in offered
    assert f'href="{url("job_export", "ndjson")}?queue=mail"' in offered


def test_the_list_offers_it_to_nobody_else(log_in: LogIn) -> None:
    assert "Export as" not in log_in("enqueue_job").get(url("job_changelist")).content.decode()


def test_exporting_changes_nothing(admin_client: Client) -> None:
    job = running_job()
    silence(Lease(job.pk, job.claim_no))
    before = list(Job.objects.values())

    export(admin_client)

    assert list(Job.objects.values()) == before


@pytest.mark.django_db(transaction=True)
def test_on_asgi_it_comes_part_by_part(admin_user: Any) -> None:
    job = noop.enqueue()

    async def download() -> list[bytes]:
        client = AsyncClient()
        await client.aforce_login(admin_user)
        response: Any = await client.get(url("job_export", "ndjson"))
        parts = [part async for part in response.streaming_content]
        await sync_to_async(connections.close_all)()
        return parts

    parts = asyncio.run(download())

    assert [json.loads(part)["id"] for part in parts if part] == [job.pk]
