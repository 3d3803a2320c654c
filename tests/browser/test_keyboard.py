"""All can be reached and pressed without a mouse."""

from __future__ import annotations

import pytest

from tests.test_admin import dead_job, state_of, url

from .watching import Watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_PRESSES = 80
FOCUSED = "document.activeElement.textContent.trim()"


def test_retry_is_reached_with_tab_and_pressed_with_enter(tab: Watched) -> None:
    job = dead_job()
    tab.open(url("job_change", job.pk))

    for _ in range(MOST_PRESSES):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate(FOCUSED) == "Retry":
            break
    assert tab.page.evaluate("document.activeElement.matches(':focus-visible')")
    tab.page.keyboard.press("Enter")

    tab.reads("1 job is pending again.")
    assert state_of(job) == "pending"
