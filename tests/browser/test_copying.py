"""Texts that people take elsewhere: tracebacks and data."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Job
from jobs.outcomes import Failed, Failure
from tests.jobs import echo
from tests.leasing import claim, settle
from tests.test_admin import url
from tests.test_tracebacks import END, HEAD, LIBRARY, OWN, text

from .conftest import OpenTab
from .watching import Watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TRACEBACK = text(HEAD, OWN, LIBRARY, END)
TO_COPY = {"permissions": ["clipboard-read", "clipboard-write"]}
CLIPBOARD = "navigator.clipboard.readText()"
# As on a site without HTTPS: what is selected then is what a browser copies by itself.
NO_CLIPBOARD = """
Object.defineProperty(navigator, "clipboard", {value: undefined});
document.addEventListener("copy", (event) => { window.copied = event.target.value; });
"""


@pytest.fixture
def job() -> Job:
    job = echo.enqueue({"a": [1]})
    failure = Failure(exception_class="ConnectionError", message="refused", traceback=TRACEBACK)
    settle(claim()[0].lease, Failed(failure=failure, is_hopeless=True))
    return job


def open_job(tab: Watched, job: Job) -> Any:
    tab.open(url("job_change", job.pk))
    return tab.page.get_by_role("button", name="Copy the traceback")


def test_a_traceback_is_copied_whole_with_the_keyboard(open_tab: OpenTab, job: Job) -> None:
    tab = open_tab(**TO_COPY)
    button = open_job(tab, job)

    button.focus()
    tab.page.keyboard.press("Enter")

    tab.page.get_by_role("status").get_by_text("Copied.").wait_for()
    assert tab.page.evaluate(CLIPBOARD) == TRACEBACK.rstrip()


def test_data_are_copied_as_they_are_shown(open_tab: OpenTab, job: Job) -> None:
    tab = open_tab(**TO_COPY)
    open_job(tab, job)

    tab.page.locator(".jobs-document").get_by_role("button", name="Copy the text").first.click()

    tab.reads("Copied.")
    assert '"a": [' in tab.page.evaluate(CLIPBOARD)


def test_a_traceback_is_copied_without_https(tab: Watched, job: Job) -> None:
    tab.page.add_init_script(NO_CLIPBOARD)
    button = open_job(tab, job)

    button.click()

    tab.reads("Copied.")
    assert tab.page.evaluate("window.copied") == TRACEBACK.rstrip()
    assert tab.page.evaluate("document.activeElement.textContent") == "Copy the traceback"


def test_a_browser_that_copies_nothing_is_told_of(tab: Watched, job: Job) -> None:
    tab.page.add_init_script("navigator.clipboard.writeText = () => Promise.reject(new Error());")
    button = open_job(tab, job)

    button.click()

    tab.reads("Your browser let nothing be copied.")


def test_without_scripts_no_button_is_offered(open_tab: OpenTab, job: Job) -> None:
    button = open_job(open_tab(java_script_enabled=False), job)

    assert button.count() == 0
