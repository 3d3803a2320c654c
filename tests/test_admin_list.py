"""The list of jobs at any size: tabs, counts, filters, its end, and what becomes of it when the database is slow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.admin.views.main import ChangeList
from django.db import OperationalError, connection, transaction
from django.test import Client

from jobs import clock, stats
from jobs.admin.job import JobAdmin
from jobs.exceptions import InvalidJob, TooSlow
from jobs.models import Job
from jobs.stats import Count, ShownState, claim_order, counts, search
from tests.jobs import echo, noop
from tests.leasing import claim, settle
from tests.plans import assert_cheap
from tests.test_admin import act, backing_off_job, dead_job, listed, running_job, url

pytestmark = pytest.mark.django_db


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of two, and counts of four."""
    monkeypatch.setattr(counts, "MOST", 4)
    monkeypatch.setattr(JobAdmin, "list_per_page", 2)
    monkeypatch.setattr(JobAdmin, "list_max_show_all", 2)


def tabs(client: Client, **query: Any) -> dict[str, str]:
    """Return the count on each tab."""
    shown = client.get(url("job_changelist"), query).context["cl"].tabs
    return {str(tab["label"] or "All"): str(tab["count"] or "") for tab in shown}


def test_every_state_has_a_tab_with_its_count(admin_client: Client) -> None:
    noop.enqueue(), noop.enqueue(), noop.using(delay=60).enqueue(), backing_off_job(), running_job(), dead_job()

    assert tabs(admin_client) == {
        "All": "",
        "Scheduled": "1",
        "Backing off": "1",
        "Pending": "2",
        "Running": "1",
        "Succeeded": "0",
        "Dead": "1",
        "Cancelled": "0",
    }


def test_counts_end_at_the_cap(short: None, admin_client: Client) -> None:
    for _ in range(5):
        noop.enqueue()

    assert tabs(admin_client)["Pending"] == "4+"
    assert str(Count(10_000, is_capped=True)) == "10,000+"


def test_an_empty_table_has_counts_too() -> None:
    assert set(stats.counts_by_state(using="default").values()) == {Count(0)}


@pytest.mark.parametrize("query", [{"queue": "mail"}, {"kind": "noop"}, {"q": "noop"}], ids=str)
def test_in_a_list_that_is_narrowed_otherwise_the_tabs_have_no_counts(admin_client: Client, query: Any) -> None:
    assert set(tabs(admin_client, **query).values()) == {""}


def test_the_tab_that_is_shown_is_marked_and_keeps_the_other_filters(admin_client: Client) -> None:
    html = admin_client.get(url("job_changelist"), {"state": "dead", "queue": "mail", "p": "1"}).content.decode()

    assert html.count('aria-current="page"') >= 1
    assert re.search(r'<a href="\?queue=mail&amp;state=dead" aria-current="page">\s*<span aria-hidden="true">✕', html)
    assert '<a href="?queue=mail&amp;state=pending">' in html


@pytest.mark.parametrize("state", [None, *ShownState], ids=str)
def test_each_state_has_the_columns_that_matter(admin_client: Client, state: ShownState | None) -> None:
    noop.enqueue(), backing_off_job(), running_job(), dead_job()
    settle(claim()[0].lease, duration=1.5)

    response = admin_client.get(url("job_changelist"), {"state": state} if state else {})

    assert response.status_code == 200
    columns = response.context["cl"].list_display
    assert ("worker" in columns) == (state is ShownState.RUNNING)
    assert ("took" in columns) == (state is ShownState.SUCCEEDED)


def test_the_kind_filter_shows_the_jobs_of_that_kind(admin_client: Client) -> None:
    wanted, _ = echo.enqueue(value=1), noop.enqueue()

    assert listed(admin_client, kind="echo") == [wanted.pk]
    assert 'href="?kind=echo"' in admin_client.get(url("job_changelist")).content.decode()


def test_the_search_finds_a_kind(admin_client: Client) -> None:
    wanted, _ = echo.enqueue(value=1), noop.enqueue()

    assert listed(admin_client, q="echo") == [wanted.pk]
    assert listed(admin_client, q="ech") == []


def test_the_search_for_a_kind_looks_at_the_newest_jobs(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    _, newer = noop.enqueue(), noop.enqueue()
    monkeypatch.setattr(search, "WINDOW", 1)

    assert listed(admin_client, q="noop") == [newer.pk]


@pytest.mark.parametrize(
    "query",
    [
        {"kind": "\0"},
        {"kind": ""},
        {"after": "\0"},
        {"after": "x"},
        {"after": ""},
        {"after": "1@2026-01-01T00:00:00+00:00"},
        {"after": "1", "state": "dead"},
        {"after": "1@", "state": "dead"},
        {"after": "1@x", "state": "dead"},
        {"after": "1@2026-01-01", "state": "dead"},
        {"after": "1@9999-01-01T00:00:00+00:00", "state": "dead"},
        {"after": f"{'9' * 30}"},
        {"after": "1", "state": "pending"},
        {"after": "1@2026-01-01T00:00:00+00:00", "state": "pending"},
        {"after": "1@2026-01-01T00:00:00+00:00@x", "state": "pending"},
        {"after": "1@x@0", "state": "pending"},
    ],
    ids=repr,
)
def test_a_filter_that_means_nothing_leads_back_to_the_whole_list(admin_client: Client, query: dict[str, Any]) -> None:
    response = admin_client.get(url("job_changelist"), query)

    assert (response.status_code, response.headers["Location"]) == (302, url("job_changelist") + "?e=1")


@pytest.mark.parametrize("query", [{"p": "\0"}, {"p": "9"}, {"p": "9" * 30}, {"e": "\0"}, {"all": ""}], ids=repr)
def test_an_odd_page_is_no_error_of_the_server(admin_client: Client, query: dict[str, Any]) -> None:
    noop.enqueue()

    assert admin_client.get(url("job_changelist"), query).status_code in {200, 302}


def pending() -> Job:
    return noop.enqueue()


def scheduled() -> Job:
    return noop.using(delay=60).enqueue()


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("make", "state"),
    [
        (pending, None),
        (pending, "pending"),
        (scheduled, "scheduled"),
        (backing_off_job, "backing_off"),
        (dead_job, "dead"),
    ],
)
def test_a_list_that_is_longer_than_its_pages_goes_on(
    admin_client: Client, make: Callable[[], Job], state: str | None
) -> None:
    for _ in range(11):
        make()
    everything = [job.pk for job in Job.objects.order_by(*(ShownState(state).order if state else ["-pk"]))]
    query: dict[str, str] = {"state": state} if state else {}

    seen, visits = [], [*pages(admin_client, query)]
    for page in visits:
        seen += [job.pk for job in page.result_list]

    assert seen == everything
    assert [str(page.paginator.counted) for page in visits] == ["4+", "4+", "4+", "4+", "3", "3"]
    assert [bool(page.first_url) for page in visits] == [False, False, True, True, True, True]


def pages(client: Client, query: dict[str, str]) -> Iterator[Any]:
    """Yield the pages of the list, each as its ChangeList, by following its links."""
    address = url("job_changelist")
    response = client.get(address, query)
    while True:
        changelist = response.context["cl"]
        yield changelist
        if changelist.page_num < changelist.paginator.num_pages:
            response = client.get(address + changelist.get_query_string({"p": changelist.page_num + 1}))
        elif changelist.next_url:
            assert f"Continue after #{changelist.next_place.pk}" in response.content.decode()
            response = client.get(address + changelist.next_url)
        else:
            return


def test_jobs_that_ended_at_the_same_time_are_all_seen(short: None, admin_client: Client) -> None:
    jobs = {dead_job().pk for _ in range(9)}
    Job.objects.update(finished_at=clock.read("default"))

    seen = [job.pk for page in pages(admin_client, {"state": "dead"}) for job in page.result_list]

    assert seen == sorted(jobs, reverse=True)


def test_all_of_a_long_list_can_be_selected_beyond_what_is_counted(short: None, admin_client: Client) -> None:
    for _ in range(6):
        noop.enqueue()

    html = admin_client.get(url("job_changelist")).content.decode()

    assert "Select all 4+ jobs" in html
    assert "4+ jobs" in html
    assert "4+ results" in admin_client.get(url("job_changelist"), {"q": "noop"}).content.decode()


def test_a_place_is_of_its_own_list() -> None:
    job = dead_job()

    assert stats.place_of(job, None) == str(job.pk)
    assert stats.place_of(job, ShownState.PENDING).endswith("@0")
    assert stats.place_of(job, ShownState.DEAD).startswith(f"{job.pk}@20")
    with pytest.raises(InvalidJob, match="no place in this list"):
        stats.beyond(Job.objects.all(), None, stats.place_of(job, ShownState.DEAD))


@pytest.mark.usefixtures("crowd")
def test_the_counts_of_all_states_read_no_more_than_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MOST", 100)

    assert_cheap(lambda: stats.counts_by_state(using="default"))


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("state", [None, ShownState.SCHEDULED, ShownState.SUCCEEDED], ids=str)
def test_going_on_reads_little_of_a_long_list(state: ShownState | None) -> None:
    jobs = Job.objects.all() if state is None else stats.in_shown_state(Job.objects.all(), state)
    ordered = jobs.order_by(*(state.order if state else ["-pk"]))
    far = stats.place_of(ordered[9_000], state)

    assert_cheap(lambda: list(stats.beyond(ordered, state, far)[:100]))


@pytest.mark.usefixtures("crowd")
@pytest.mark.parametrize("begin", [0, 9_000])
def test_a_page_of_the_pending_jobs_reads_little_wherever_it_is(begin: int) -> None:
    jobs = stats.in_shown_state(Job.objects.all(), ShownState.PENDING)
    (before,) = claim_order.page(jobs, begin, begin + 1)
    place = stats.claim_place(jobs, stats.place_of(before, ShownState.PENDING))

    assert_cheap(lambda: list(claim_order.page(jobs, 0, 100, place)))


def test_pending_jobs_are_listed_as_they_are_claimed_and_those_whose_workers_died_among_them(
    admin_client: Client,
) -> None:
    low, high, suspect, late = (noop.using(priority=priority).enqueue() for priority in (-1, 2, 1, 1))
    Job.objects.filter(pk=suspect.pk).update(losses=1)

    assert listed(admin_client, state="pending") == [high.pk, suspect.pk, late.pk, low.pk]


@pytest.mark.parametrize("narrow", ["kind", "queue"])
def test_what_is_looked_for_among_the_newest_is_listed_by_id(admin_client: Client, narrow: str) -> None:
    jobs = [dead_job(), dead_job()]
    Job.objects.filter(pk=jobs[0].pk).update(finished_at=clock.in_seconds(60))

    found = listed(admin_client, state="dead", **{narrow: getattr(jobs[0], narrow)})

    assert found == [jobs[1].pk, jobs[0].pk]


needs_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no statement timeout")


def sleep() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(5)")


def limit() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        return str(cursor.fetchone()[0])


@needs_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_slow_statement_is_stopped_and_the_limit_ends_with_it() -> None:
    with pytest.raises(TooSlow), stats.patience(using="default", seconds=0.05):
        sleep()

    assert limit() == "0"
    with stats.patience(using="default", seconds=7):
        assert limit() == "7s"
    assert limit() == "0"


@needs_postgresql
def test_within_a_transaction_the_old_limit_comes_back_and_the_transaction_lives() -> None:
    with transaction.atomic():
        with stats.patience(using="default", seconds=7):
            assert limit() == "7s"
        assert limit() == "0"
        with pytest.raises(TooSlow), stats.patience(using="default", seconds=0.05):
            sleep()
        assert limit() == "0"


@needs_postgresql
def test_a_shorter_limit_of_the_site_stays() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '1500ms'")
        with stats.patience(using="default", seconds=7):
            assert limit() == "1500ms"
        with stats.patience(using="default", seconds=1):
            assert limit() == "1s"
        assert limit() == "1500ms"


@needs_postgresql
def test_other_errors_of_the_database_are_not_taken_for_slowness() -> None:
    with pytest.raises(OperationalError, match="boo"), stats.patience(using="default"):
        raise OperationalError("boo")


@needs_postgresql
@pytest.mark.parametrize("atomic_requests", [False, True], ids=["autocommit", "ATOMIC_REQUESTS"])
@pytest.mark.django_db(transaction=True)
def test_a_slow_list_says_so_and_not_that_there_is_nothing(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, *, atomic_requests: bool
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic_requests)
    monkeypatch.setattr("jobs.stats.limits.READ_SECONDS", 0.05)
    monkeypatch.setattr(ChangeList, "get_results", lambda *_: sleep())

    response = admin_client.get(url("job_changelist"))

    assert response.status_code == 503
    html = response.content.decode()
    assert "This took too long" in html
    assert "0 jobs" not in html
    assert limit() == "0"


@needs_postgresql
def test_a_slow_page_of_a_job_says_so(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    job = noop.enqueue()
    monkeypatch.setattr("jobs.stats.limits.READ_SECONDS", 0.05)
    monkeypatch.setattr(stats, "timeline", lambda _: sleep())

    assert admin_client.get(url("job_change", job.pk)).status_code == 503


@needs_postgresql
def test_what_people_do_is_not_limited(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    job, seen = noop.enqueue(), []

    def note(batch: Any) -> Any:
        seen.append(limit())
        return batch.ids

    monkeypatch.setattr("jobs.operations.jobs._cancel", note)
    act(admin_client, "cancel", job)

    assert seen == ["0"]
