"""Taking pictures of pages with the browser of this machine."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test import Client
from django.test.testcases import LiveServerThread
from django.urls import reverse
from playwright.sync_api import sync_playwright

from jobs.models import BulkOperation

from . import day
from .day import Rows

WIDTH, LEAST_HEIGHT, MOST_HEIGHT, MARGIN = 1280, 600, 1_150, 24
BOTTOM = "document.querySelector('#content').getBoundingClientRect().bottom"


def take(rows: Rows, folder: Path) -> None:
    """Write a PNG of each page, light and dark, into ``folder``."""
    # No site of ours has an icon, which each browser asks for.
    logging.getLogger("django.request").setLevel(logging.ERROR)
    server = LiveServerThread("127.0.0.1", StaticFilesHandler, port=0)
    server.daemon = True
    server.start()
    server.is_ready.wait()
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            _take(playwright, f"http://127.0.0.1:{server.port}", rows, folder)
    finally:
        server.terminate()


def _take(playwright: Any, site: str, rows: Rows, folder: Path) -> None:
    client = Client()
    client.force_login(rows.user)
    cookie = {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": WIDTH, "height": LEAST_HEIGHT})
        context.add_cookies([cookie | {"url": site}])
        page = context.new_page()
        for name, address in _pages(rows):
            day.breathe()
            page.set_viewport_size({"width": WIDTH, "height": LEAST_HEIGHT})
            page.goto(site + address)
            height = min(MOST_HEIGHT, page.evaluate(BOTTOM) + MARGIN)
            page.set_viewport_size({"width": WIDTH, "height": int(height)})
            page.screenshot(path=folder / f"{name}-{scheme}.png")
    browser.close()


def _pages(rows: Rows) -> Iterator[tuple[str, str]]:
    yield "overview", reverse("admin:app_list", args=["jobs"])
    yield "jobs", reverse("admin:jobs_job_changelist")
    yield "dead-jobs", reverse("admin:jobs_deadletter_changelist")
    yield "dead-job", reverse("admin:jobs_job_change", args=[rows.dead.pk])
    yield "running-job", reverse("admin:jobs_job_change", args=[rows.running.pk])
    yield "bulk-operation", reverse("admin:jobs_bulkoperation_change", args=[BulkOperation.objects.get().pk])
    yield "queue", reverse("admin:jobs_queue_change", args=[rows.queue.pk])
    yield "schedules", reverse("admin:jobs_cronjob_changelist")
    yield "schedule", reverse("admin:jobs_cronjob_change", args=[rows.schedule.pk])
    yield "workers", reverse("admin:jobs_worker_changelist")
