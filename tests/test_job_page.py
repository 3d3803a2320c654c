"""The page of one job in the admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs import leases
from jobs.leases import Beat
from jobs.models import Job, JobEvent, JobRun
from jobs.outcomes import Failed, Failure
from jobs.stats import Progress
from jobs.stats.masking import MASK
from tests.jobs import echo, noop
from tests.leasing import claim, settle
from tests.test_admin import LogIn, log_in, reads, running_job, url

__all__ = ["log_in"]  # a fixture

pytestmark = pytest.mark.django_db

TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/payments.py", line 88, in charge
    gateway.post(card)
  File "/srv/lib/python3.12/site-packages/urllib3/pool.py", line 1, in urlopen
    raise error
ConnectionError: <refused>"""


def page(client: Client, job: Job) -> str:
    return client.get(url("job_change", job.pk)).content.decode()


def secretive() -> Job:
    return noop.enqueue(password="hunter2", user="ada")


def test_the_page_says_why_the_job_is_as_it_is(admin_client: Client) -> None:
    assert "No worker is alive" in page(admin_client, noop.enqueue())


def test_the_page_shows_progress_as_a_bar_and_in_words(admin_client: Client) -> None:
    job = running_job()
    beat = Beat(lease=leases.Lease(job.pk, job.claim_no), progress={"done": 31, "total": 50, "message": "row <31>"})
    leases.renew([beat], lease_seconds=30, using="default")

    html = page(admin_client, job)

    assert '<progress aria-label="Progress" max="100" value="62">' in html
    assert "62 % (31 / 50)" in html
    assert "row &lt;31&gt;" in html


def test_progress_without_a_total_has_a_bar_without_a_value(admin_client: Client) -> None:
    job = running_job()
    Job.objects.update(progress={"done": 7, "total": None, "message": ""})

    assert '<progress aria-label="Progress"></progress>' in page(admin_client, job)


@pytest.mark.parametrize(
    ("stored", "progress"),
    [
        (None, None),
        ({"done": None}, None),
        ({"done": True}, None),
        (["x"], None),
        ({"done": 1}, Progress(done=1)),
        ({"done": 1, "total": 0}, Progress(done=1)),
        ({"done": 1, "total": 4, "message": "m"}, Progress(done=1, total=4, message="m")),
    ],
    ids=repr,
)
def test_only_what_is_progress_is_shown_as_such(stored: Any, progress: Progress | None) -> None:
    assert Progress.of(stored) == progress


@pytest.mark.parametrize(("done", "percent"), [(-1, 0), (1, 25), (9, 100)])
def test_progress_stays_between_nothing_and_all(done: float, percent: int) -> None:
    assert Progress(done=done, total=4).percent == percent


def test_progress_that_is_none_is_shown_as_data(admin_client: Client) -> None:
    job = running_job()
    Job.objects.update(progress={"phase": 2})

    html = page(admin_client, job)

    assert "<progress" not in html
    assert "&quot;phase&quot;: 2" in html


def test_the_log_of_a_run_under_way_is_shown(admin_client: Client) -> None:
    job = running_job()
    Job.objects.update(log="opened <orders.csv>")

    assert "opened &lt;orders.csv&gt;" in page(admin_client, job)


def test_the_page_tells_how_the_kind_has_been_doing(admin_client: Client) -> None:
    for _ in range(4):
        noop.enqueue()
    for claimed in claim():
        settle(claimed.lease, duration=0.4)
    job = noop.enqueue()
    few = page(admin_client, job)
    settle(claim()[0].lease, Failed(failure=Failure(exception_class="<E>", message="")), duration=2.0)

    html = page(admin_client, job)

    assert "Recent runs of" not in few
    assert "Recent runs of noop" in html
    assert html.count('<rect class="jobs-bar-good"') == 4
    assert html.count('<rect class="jobs-bar-bad"') == 1
    assert f"<title>#{job.pk} · Failed · 2 s · &lt;E&gt;</title>" in html
    assert_in_order(
        html, "Failed</dt><dd>20 %", "Took, median</dt><dd>400 ms", "Took, 95 %</dt><dd>2 s", "Waited, 95 %"
    )


def assert_in_order(html: str, *told: str) -> None:
    places = [html.index(text) for text in told]
    assert places == sorted(places)


def test_the_newest_traceback_is_open_and_its_library_frames_are_folded(admin_client: Client) -> None:
    job = noop.enqueue()
    for _ in range(2):
        failure = Failure(exception_class="ConnectionError", message="<refused>", traceback=TRACEBACK)
        settle(claim()[0].lease, Failed(failure=failure))
        job.trigger()

    html = page(admin_client, job)

    assert html.count("<details open><summary>Traceback") == 1
    assert html.count("<details><summary>Traceback") == 1
    assert html.count("1 library frame</summary>") == 2
    assert "ConnectionError: &lt;refused&gt;" in html


def test_a_long_traceback_and_log_show_their_ends(admin_client: Client) -> None:
    job = noop.enqueue()
    failure = Failure(exception_class="E", message="m", traceback="x" * 30_000 + "the end")
    settle(claim()[0].lease, Failed(failure=failure), log="y" * 30_000 + "last line")

    html = page(admin_client, job)
    run = admin_client.get(url("jobrun_change", JobRun.objects.get().pk)).content.decode()

    for text in (html, run):
        assert "This is the end: the whole has 30007 characters." in text
        assert "last line" in text
        assert len(text) < 70_000


def test_sensitive_values_are_masked(admin_client: Client) -> None:
    html = page(admin_client, secretive())

    assert "hunter2" not in html
    assert MASK in html
    assert "ada" in html


def test_what_is_masked_is_shown_to_whoever_may_see_it_and_that_is_recorded(log_in: LogIn) -> None:
    job, client = secretive(), log_in("view_job_payload")
    assert url("job_payload", job.pk) in page(client, job)

    html = client.post(url("job_payload", job.pk)).content.decode()

    assert "hunter2" in html
    event = JobEvent.objects.get()
    assert (event.kind, event.job_id, event.actor_label) == ("payload_viewed", job.pk, "alice")
    assert "Saw what is masked" in page(client, job)


def test_a_job_with_nothing_masked_offers_nothing_to_unmask(admin_client: Client) -> None:
    job = echo.enqueue(value=1)

    assert url("job_payload", job.pk) not in page(admin_client, job)


def test_unmasking_needs_its_own_permission(log_in: LogIn) -> None:
    job, client = secretive(), log_in("retry_job", "cancel_job")

    assert url("job_payload", job.pk) not in page(client, job)
    assert client.post(url("job_payload", job.pk)).status_code == 403
    assert not JobEvent.objects.exists()


def test_unmasking_is_no_link(admin_client: Client) -> None:
    assert admin_client.get(url("job_payload", secretive().pk)).status_code == 405
    assert admin_client.post(url("job_payload", 404)).status_code == 404
    assert not JobEvent.objects.exists()


def test_the_page_reads_a_few_rows_whatever_has_happened(admin_client: Client) -> None:
    job = noop.using(unique_key="k").enqueue(1)
    with CaptureQueriesContext(connection) as few:
        page(admin_client, job)
    for _ in range(5):
        settle(claim()[0].lease, Failed(failure=Failure(exception_class="E", message="m")))
        job.trigger()
    job.cancel()

    with CaptureQueriesContext(connection) as many:
        page(admin_client, job)

    assert max(len(reads(few)), len(reads(many))) <= 16


@pytest.mark.parametrize("depth", [101, 990])
def test_data_that_is_nested_too_deep_is_left_out(admin_client: Client, depth: int) -> None:
    job = noop.enqueue()
    deep = '{"a": ' + "[" * depth + "]" * depth + "}"
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job SET payload = %s WHERE id = %s", [deep, job.pk])

    response = admin_client.get(url("job_change", job.pk))

    assert response.status_code == 200
    assert "[[[" not in response.content.decode()
