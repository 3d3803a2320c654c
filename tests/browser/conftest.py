"""A browser for all tests, and a tab of it for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client

from .watching import Watched

NAMES = ("chromium", "chromium-browser", "google-chrome")

OpenTab = Callable[..., Watched]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser of this machine. Without one the tests are skipped, but for CI, which does not pass without."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        _do_without("Chromium: on Debian, apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _do_without("Playwright: pip install --group browser")
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        # Playwright keeps an event loop in this thread, which waits while the test uses the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        # Chromium refuses to sandbox pages for root, and the pages are ours.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield browser
        browser.close()


def _do_without(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"There is no {what}.")
    pytest.skip(f"There is no {what}.")


@pytest.fixture
def open_tab(chromium: Any, live_server: Any) -> Iterator[OpenTab]:
    """Open tabs in which a superuser is logged in; fail in the end if there was trouble in one of them."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    session = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    contexts, tabs = [], []

    def open_tab(**options: Any) -> Watched:
        context = chromium.new_context(**options)
        context.add_cookies([{"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
        contexts.append(context)
        tabs.append(Watched(context.new_page(), live_server.url))
        return tabs[-1]

    yield open_tab
    for context in contexts:
        context.close()
    troubles = [trouble for tab in tabs for trouble in tab.troubles]
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def tab(open_tab: OpenTab) -> Watched:
    return open_tab()
