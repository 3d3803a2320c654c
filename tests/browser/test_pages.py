"""Every page of the app, in a browser that allows nothing inline."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import Job
from tests.test_admin import url

from . import walking
from .conftest import OpenTab
from .hostile import MARKUP, make_everything
from .watching import Watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SERIOUS = {"serious", "critical"}
IS_MARKED = """
'xss' in window || !!document.querySelector('[onerror], script:not([src]):not([type="application/json"])')
"""
# To look into style sheets beforehand, axe would add some of its own.
AXE_RUN = "axe.run(document, {resultTypes: ['violations'], preload: false})"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def pages(admin_client: Client) -> list[str]:
    make_everything()
    found = walking.pages(admin_client)
    # A walk that found the way nowhere would prove nothing.
    assert {url("job_changelist"), url("cronjob_add"), url("worker_changelist")} <= set(found)
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_keeps_to_the_policy_and_can_be_read_by_everybody(
    open_tab: OpenTab, pages: list[str], scheme: str
) -> None:
    from axe_playwright_python.base import AXE_SCRIPT  # the group "browser", like Playwright

    tab = open_tab(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    # As a script of the page itself, the policy would refuse it.
    tab.page.add_init_script(AXE_SCRIPT)

    for page in _our_own(pages):
        tab.open(page)
        found = tab.page.evaluate(AXE_RUN)
        for violation in found["violations"]:
            if violation["impact"] in SERIOUS:
                tab.note(_worded(violation))


def _our_own(pages: list[str]) -> list[str]:
    """Leave out Django's page of its own log, which has no style sheet of ours."""
    return [page for page in pages if not page.endswith("/history/")]


def _worded(violation: Any) -> str:
    places = "; ".join(node["html"] for node in violation["nodes"][:3])
    return f"{violation['impact']}: {violation['help']} ({violation['id']}): {places}"


def test_no_page_is_wider_than_a_small_screen(open_tab: OpenTab, pages: list[str]) -> None:
    tab = open_tab(viewport={"width": 320, "height": 640})

    for page in _our_own(pages):
        tab.open(page)
        if more := tab.page.evaluate(OVERFLOW):
            tab.note(f"It is {more} pixels wider than the screen.")


def test_what_others_wrote_is_text_on_every_page(open_tab: OpenTab, pages: list[str]) -> None:
    # Without the policy, which would keep a script from running that got into a page.
    tab = open_tab(bypass_csp=True)
    shown = 0

    for page in pages:
        tab.open(page)
        shown += _shows_markup(tab)
    _ask_about_ticked(tab)
    shown += _shows_markup(tab)

    assert shown > Job.objects.count()


def _shows_markup(tab: Watched) -> bool:
    """Say whether the page shows the markup as text; fail if it became a part of the page."""
    assert not tab.page.evaluate(IS_MARKED), tab.page.url
    return MARKUP in tab.page.inner_text("body")


def _ask_about_ticked(tab: Watched) -> None:
    tab.open(url("job_changelist"))
    tab.page.locator("#action-toggle").check()
    tab.page.get_by_label("Action:").select_option("cancel")
    tab.page.locator('button[name="index"]').click()
