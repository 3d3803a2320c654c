"""The newest runs of a kind, as bars."""

from __future__ import annotations

import pytest

from jobs.outcomes import Failed, Failure
from tests.jobs import noop
from tests.leasing import claim, settle
from tests.test_admin import url

from .conftest import OpenTab

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MIDDLE = """
bar => {
    bar.scrollIntoView();
    const box = bar.getBoundingClientRect();
    return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === bar;
}
"""


def test_a_bar_tells_of_its_run_where_it_is_hollow_too(open_tab: OpenTab) -> None:
    failed = Failed(failure=Failure(exception_class="ValueError", message="boo"), is_hopeless=True)
    for _ in range(6):
        job = noop.enqueue()
        settle(claim()[0].lease, failed, duration=2.0)
    tab = open_tab()

    tab.open(url("job_change", job.pk))

    bars = tab.page.locator(".jobs-bar-bad")
    assert bars.count() == 6
    assert bars.first.evaluate(MIDDLE)
