"""Dead jobs by error: what is one error, what the page costs, and where it leads."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from hypothesis import given
from hypothesis import strategies as st

from jobs import clock, stats
from jobs.admin import DeadLetterAdmin, deadletter
from jobs.exceptions import InvalidJob, TooSlow
from jobs.models import DeadLetter, Job
from jobs.outcomes import Discarded
from jobs.stats import deadletters
from jobs.stats.signatures import CHARS, signature_of, with_signature
from tests.jobs import echo, noop
from tests.leasing import claim, settle
from tests.plans import plans, seed, sequential_scans
from tests.test_admin import LogIn, listed, log_in, reads, state_of, url

__all__ = ["log_in"]  # a fixture

pytestmark = pytest.mark.django_db

ONLY_DEAD = admin.AdminSite(name="dead")
ONLY_DEAD.register(DeadLetter, DeadLetterAdmin)
urlpatterns = [path("admin/", admin.site.urls), path("dead/", ONLY_DEAD.urls)]


def dead(error: str, *, handler: Any = noop) -> Job:
    job = handler.using(queue="dying").enqueue(1) if handler is noop else handler.using(queue="dying").enqueue(value=1)
    (claimed,) = claim(queues=["dying"])
    settle(claimed.lease, Discarded(error))
    return Job.objects.get(pk=job.pk)


@pytest.mark.parametrize(
    ("error", "signature"),
    [
        ("No such customer: 17.", "No such customer: …."),
        ("ConnectionError: 10.0.0.7:5432 refused", "ConnectionError: ….….….…:… refused"),
        ("S3UploadError: bucket b-7", "S3UploadError: bucket …"),
        ("Http404: gone", "…: gone"),
        ("S3UploadError", "S3UploadError"),
        ("order-5512 of cus_9Fh2kLm3Qz", "… of …"),
        ("7f3a0c52-1d2e-4a6b-9c8d-0e1f2a3b4c5d is gone", "… is gone"),
        ("at 0x7f3adeadbeef", "at …"),
        ("loading… failed", "… failed"),
        ("", ""),
        ("ünï 7ö", "ünï …ö"),
    ],
)
def test_numbers_and_ids_make_no_difference(error: str, signature: str) -> None:
    assert signature_of(error) == signature


TEXTS = st.sampled_from(["S3Error", "S3Error: 7", "…", "…: 7"]) | st.text(
    st.sampled_from("aB7-_…. :(\\*[^$\n'é0é") | st.characters(exclude_characters="\0", codec="utf-8"), max_size=60
)


@given(TEXTS)
def test_a_signature_is_its_own(error: str) -> None:
    stats.check_signature(signature_of(error))


@given(TEXTS, TEXTS)
def test_the_database_finds_what_has_the_signature(error: str, other: str) -> None:
    Job.objects.all().delete()
    for text in (error, other):
        Job.objects.filter(pk=noop.enqueue().pk).update(error=text)

    found = with_signature(Job.objects.all(), signature_of(error)).values_list("error", flat=True)

    assert error in found
    assert (other in found) == (signature_of(other) == signature_of(error))


def test_only_the_beginning_of_an_error_counts() -> None:
    long = "x" * CHARS

    jobs = [dead(long + "a"), dead(long + "b"), dead("x")]

    found = with_signature(Job.objects.all(), signature_of(long + "c"))
    assert set(found) == set(jobs[:2])


@pytest.mark.parametrize("text", ["boo 7", "a…", "……", "\0", "x" * 201])
def test_what_no_error_has_is_no_signature(text: str) -> None:
    with pytest.raises(InvalidJob, match="no signature"):
        stats.check_signature(text)


def test_dead_jobs_are_grouped_by_kind_and_error_largest_first() -> None:
    first, *_, last = [dead("No such customer: 17."), dead("Boo."), dead("No such customer: 8.")]
    other = dead("No such customer: 8.", handler=echo)
    Job.objects.filter(pk=first.pk).update(finished_at=clock.in_seconds(-60))
    first.refresh_from_db()

    found = stats.dead_groups(using="default")

    assert (found.total.number, found.total.is_capped) == (4, False)
    assert [(group.kind, group.signature, group.count) for group in found.groups] == [
        ("noop", "No such customer: ….", 2),
        ("echo", "No such customer: ….", 1),
        ("noop", "Boo.", 1),
    ]
    group = found.groups[0]
    assert (group.first_at, group.last_at, group.newest_id) == (first.finished_at, last.finished_at, last.pk)
    assert found.groups[1].newest_id == other.pk


def test_only_the_newest_are_looked_at_in_the_groups_and_in_their_lists(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [dead("Boo.") for _ in range(4)]
    for age, job in enumerate(reversed(jobs)):
        Job.objects.filter(pk=job.pk).update(finished_at=clock.in_seconds(-age))
    monkeypatch.setattr(deadletters, "WINDOW", 2)

    found = stats.dead_groups(using="default")

    assert (found.groups[0].count, str(found.total)) == (2, "2+")
    assert listed(admin_client, state="dead", error="Boo.") == [jobs[3].pk, jobs[2].pk]
    assert "there are more than are looked at" in admin_client.get(url("deadletter_changelist")).content.decode()


def test_the_page_leads_to_the_jobs_of_a_group_and_to_what_can_be_done(admin_client: Client) -> None:
    job = dead("No such customer: <17> & co.")
    dead("Boo.")

    html = admin_client.get(url("deadletter_changelist")).content.decode()
    links = [unescape(link) for link in re.findall(r'href="([^"]*error=[^"]*)"', html)]
    assert [link.partition("?")[0] for link in links[:3]] == [
        url("job_changelist"),
        url("job_all", "retry"),
        url("job_all", "discard"),
    ]
    (group,) = [link for link in links if "customer" in link and link.startswith(url("job_changelist") + "?")]

    response = admin_client.get(group)

    assert [row.pk for row in response.context["cl"].result_list] == [job.pk]
    assert "No such customer: &lt;…&gt; &amp; co." in response.content.decode()
    assert f'href="{url("job_change", job.pk)}"' in html


def test_a_group_is_retried_and_no_other(admin_client: Client) -> None:
    jobs = [dead("No such customer: 17."), dead("No such customer: 8."), dead("Boo.")]
    other = dead("No such customer: 8.", handler=echo)
    query = "?state=dead&kind=noop&error=No+such+customer%3A+%E2%80%A6."

    response = admin_client.get(url("job_all", "retry") + query)
    assert "<dt>Error</dt><dd>No such customer: ….</dd>" in response.content.decode()
    admin_client.post(url("job_all", "retry") + query, {"selection": response.context["kept"]["selection"][0]})

    assert [state_of(job) for job in (*jobs, other)] == ["pending", "pending", "dead", "dead"]


def test_another_tab_is_of_all_errors(admin_client: Client) -> None:
    dead("Boo.")

    html = admin_client.get(url("job_changelist"), {"state": "dead", "kind": "noop", "error": "Boo."}).content.decode()

    assert 'href="?kind=noop&amp;state=pending"' in html
    assert "By error (newest 10,000 dead jobs)" in html


def test_an_empty_error_is_an_error_too(admin_client: Client) -> None:
    job, _ = dead(""), dead("Boo.")

    assert listed(admin_client, state="dead", error="") == [job.pk]


@pytest.mark.parametrize("query", [{"error": "x"}, {"error": "7", "state": "dead"}, {"error": "\0", "state": "dead"}])
def test_an_error_that_means_nothing_leads_back_to_the_whole_list(admin_client: Client, query: Any) -> None:
    response = admin_client.get(url("job_changelist"), query)

    assert (response.status_code, response.headers["Location"]) == (302, url("job_changelist") + "?e=1")


def test_without_dead_jobs_the_page_says_so(admin_client: Client) -> None:
    assert "No job is dead." in admin_client.get(url("deadletter_changelist")).content.decode()


def test_the_page_costs_the_same_queries_for_many_groups(admin_client: Client) -> None:
    dead("Boo.")
    with CaptureQueriesContext(connection) as few:
        admin_client.get(url("deadletter_changelist"))
    for letter in "abcdefgh":
        dead(letter)

    with CaptureQueriesContext(connection) as many:
        admin_client.get(url("deadletter_changelist"))

    assert len(reads(many)) == len(reads(few)) == 3


def test_of_many_groups_the_largest_are_shown(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadletter, "MOST_SHOWN", 1)
    for text in "abc":
        dead(text)

    assert "and 2 smaller groups" in admin_client.get(url("deadletter_changelist")).content.decode()


def test_whoever_may_only_look_is_offered_nothing(log_in: LogIn) -> None:
    dead("Boo.")

    html = log_in().get(url("deadletter_changelist")).content.decode()

    assert "error=Boo." in html
    assert "All of these" not in html


def test_whoever_may_not_see_jobs_has_no_links_to_them(client: Client) -> None:
    from django.contrib.auth.models import Permission

    user = User.objects.create_user("carol", is_staff=True)
    client.force_login(user)
    assert client.get(url("deadletter_changelist")).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="view_deadletter"))
    dead("Boo.")

    html = client.get(url("deadletter_changelist")).content.decode()

    assert "Boo." in html
    assert "/jobs/job/" not in html


@pytest.mark.urls(__name__)
def test_a_site_without_jobs_has_no_links_to_them(admin_client: Client) -> None:
    dead("Boo.")

    html = admin_client.get("/dead/jobs/deadletter/").content.decode()

    assert "Boo." in html
    assert "/jobs/job/" not in html


def test_a_dead_job_has_no_page_here(admin_client: Client) -> None:
    assert admin_client.get(f"/admin/jobs/deadletter/{dead('Boo.').pk}/change/").status_code == 404


def test_a_slow_page_says_so(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_slow(**_: Any) -> Any:
        raise TooSlow

    monkeypatch.setattr(stats, "dead_groups", too_slow)

    assert admin_client.get(url("deadletter_changelist")).status_code == 503


@pytest.mark.usefixtures("new_tables")
def test_groups_and_their_lists_read_the_index_of_what_has_ended() -> None:
    seed(50_000, state="succeeded")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE jobs_job SET state = 'dead', error = 'No such customer: ' || id WHERE id IN "
            "(SELECT id FROM jobs_job ORDER BY id LIMIT 2000)"
        )
        cursor.execute("ANALYZE jobs_job")

    def work() -> None:
        stats.dead_groups(using="default")
        list(stats.died_of(Job.objects.order_by("-finished_at", "-pk"), "No such customer: …")[:100])

    for statement, plan in plans(work):
        assert sequential_scans(plan) == [], statement
