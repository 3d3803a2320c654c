"""A schedule, from the empty form to its first run by hand."""

from __future__ import annotations

import pytest

from jobs.models import CronJob, Job
from tests.test_admin import url

from .watching import Watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_schedule_is_previewed_while_it_is_typed_then_saved_and_run_by_hand(tab: Watched) -> None:
    tab.open(url("cronjob_add"))
    tab.page.get_by_label("Name:").fill("nightly")
    tab.page.locator("#id_kind").select_option("noop")
    tab.page.get_by_label("Cron expression").press_sequentially("30 2 * * *")
    tab.page.locator("#jobs-preview tbody tr").nth(4).wait_for()
    tab.reads("02:30:00 UTC")
    tab.press("button", "Save and continue editing")

    tab.press("link", "Run now…")
    tab.press("button", "Run schedule nightly now")

    tab.reads("is enqueued. The next slot stays.")
    assert Job.objects.get().cron == CronJob.objects.get(name="nightly")


def test_a_rule_that_cannot_be_says_so_while_it_is_typed(tab: Watched) -> None:
    tab.open(url("cronjob_add"))
    tab.page.get_by_label("Cron expression").press_sequentially("99 * * * *")

    tab.page.locator("#jobs-preview .errorlist").wait_for()
    tab.reads("99")
