"""What people do most, as they do it: by pressing buttons."""

from __future__ import annotations

import pytest

from jobs.models import Job, Queue
from tests.jobs import echo
from tests.leasing import claim, settle
from tests.test_admin import dead_job, running_job, state_of, url

from .watching import Watched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_dead_job_is_retried(tab: Watched) -> None:
    job = dead_job()

    tab.open(url("job_change", job.pk))
    tab.press("button", "Retry")

    tab.reads("1 job is pending again.")
    assert state_of(job) == "pending"


def test_a_running_job_is_asked_to_stop_with_a_reason(tab: Watched) -> None:
    job = running_job()

    tab.open(url("job_change", job.pk))
    tab.press("link", "Ask to stop…")
    tab.page.get_by_label("Reason").fill("The wrong file.")
    tab.press("button", f"Ask job {job} to stop")

    tab.reads("1 running job was asked to stop.")
    tab.reads("The wrong file.")
    assert Job.objects.get(pk=job.pk).cancel_requested_at is not None


def test_ticked_jobs_are_cancelled_together(tab: Watched) -> None:
    jobs = [echo.enqueue(number) for number in range(3)]

    tab.open(url("job_changelist"))
    for job in jobs[:2]:
        tab.page.locator(f'input[name="_selected_action"][value="{job.pk}"]').check()
    tab.page.get_by_label("Action:").select_option("cancel")
    tab.page.locator('button[name="index"]').click()
    tab.press("button", "Cancel 2 jobs")

    tab.reads("2 jobs were cancelled.")
    assert [state_of(job) for job in jobs] == ["cancelled", "cancelled", "pending"]


def test_a_queue_is_paused_and_resumed(tab: Watched) -> None:
    queue = Queue.objects.create(name="mail")

    tab.open(url("queue_change", queue.pk))
    tab.press("link", "Pause…")
    tab.page.get_by_label("Reason").fill("The mail host moves.")
    tab.press("button", "Pause queue mail")
    tab.reads("1 queue is paused")
    tab.press("button", "Resume")

    tab.reads("Queue mail is resumed.")
    queue.refresh_from_db()
    assert queue.paused_at is None


def test_a_copy_of_an_ended_job_gets_other_arguments(tab: Watched) -> None:
    job = echo.using(queue="mail").enqueue("first")
    settle(claim(queues=["mail"])[0].lease)

    tab.open(url("job_change", job.pk))
    tab.press("link", "Copy…")
    tab.page.get_by_label("value").fill('"second"')
    tab.press("button", f"Enqueue a copy of job {job}")

    tab.reads("is enqueued.")
    copy = Job.objects.get(copied_from=job)
    assert (copy.payload, copy.queue) == ({"value": "second"}, "mail")
