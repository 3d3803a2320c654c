"""All dead jobs of one error, from the page of dead jobs to the end of what is done to them."""

from __future__ import annotations

import pytest

from jobs import operations
from jobs.models import BulkOperation, Job
from jobs.operations import bulk
from tests.test_admin import dead_job, state_of, url

from .watching import Watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def two_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST_AT_ONCE", 1)


def retry_all(tab: Watched) -> BulkOperation:
    """Ask for it as a person does, and return what became of that."""
    tab.open(url("deadletter_changelist"))
    tab.press("link", "Retry…")
    tab.page.locator("#id_word").fill("Retry")
    tab.page.get_by_label("Reason").fill("It is mended.")
    tab.press("button", "Retry all 3 jobs")
    tab.reads("This is done in the background")
    return BulkOperation.objects.get()


def test_the_page_follows_a_retry_of_all_to_its_end(tab: Watched) -> None:
    jobs = [dead_job() for _ in range(3)]
    operation = retry_all(tab)
    tab.reads("Waiting")

    for _report in operations.carry_out(operation.pk):
        pass

    tab.reads("Finished")
    tab.reads("3 of 3")
    assert {state_of(job) for job in jobs} == {"pending"}


def test_stop_ends_a_retry_of_all(tab: Watched) -> None:
    for _ in range(3):
        dead_job()
    operation = retry_all(tab)

    tab.press("button", "Stop")

    tab.reads("root stopped it.")
    operation.refresh_from_db()
    assert operation.status == BulkOperation.Status.STOPPED
    assert Job.objects.filter(state="dead").count() == 3
