"""What a day in the shop leaves behind: mails and reports, a supplier that is away, and people who look after it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User

from jobs import clock, maintenance, operations, registry
from jobs.models import BulkOperation, CronJob, Job, Queue, Worker
from jobs.operations import bulk
from jobs.outcomes import Discarded, Failed, Failure, Succeeded
from jobs.stats import Selection, ShownState
from project import jobs

from . import supplier, timetable
from .doing import BACK_OFFICE, HOUR, MAIL, MINUTE, OFFICE, USING, earlier, run, start
from .timetable import ALICE, BOB

QUEUES = {MAIL: ["mail"], OFFICE: ["default", "reports"], BACK_OFFICE: ["default", "reports"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows whose pages are pictured."""

    user: User
    dead: Job
    running: Job
    queue: Queue
    schedule: CronJob


def make() -> Rows:
    """Write the day into an empty database."""
    user = User.objects.create_superuser("alice", first_name="Alice")
    _hire()
    nightly = timetable.make()
    _sell()
    dead = _ask_for_prices()
    _write_mails()
    _pause_reports()
    running = _work()
    breathe()
    queue = Queue.objects.get(name="reports")
    return Rows(user=user, dead=dead, running=running, queue=queue, schedule=nightly)


def breathe() -> None:
    """Let each worker give a sign of life: one of them is late with it."""
    Worker.objects.update(heartbeat_at=clock.in_seconds(-3))
    Worker.objects.filter(name=BACK_OFFICE).update(heartbeat_at=clock.in_seconds(-24))


def _hire() -> None:
    for hours, (name, queues) in enumerate(QUEUES.items(), start=8):
        host, pid, _ = name.split(":")
        facts: dict[str, Any] = {"queues": queues, "kinds": registry.kinds(), "concurrency": 4, "version": "0.1.0"}
        times = {"started_at": clock.in_seconds(-hours * HOUR), "heartbeat_at": clock.now()}
        Worker.objects.create(
            name=name, hostname=host, pid=int(pid), running=3 if name == OFFICE else 0, **facts, **times
        )
    for name in ("default", "mail", "printing", "reports"):
        Queue.objects.get_or_create(name=name)


def _sell() -> None:
    for number in range(12):
        job = jobs.book_stock.enqueue(5_500 + number)
        run(Succeeded("2"), seconds=0.3, worker=BACK_OFFICE)
        earlier(job, (40 - number) * MINUTE)


def _ask_for_prices() -> Job:
    """Ask a supplier that is away for so long that the job gives up."""
    metadata = {"requested_by": "alice"}
    job = jobs.sync_supplier.using(unique_key="prices:acme", max_attempts=3, metadata=metadata).enqueue()
    for reason in ("", "They say that it is back.", ""):
        run(Failed(failure=supplier.silence()), seconds=5.1, log=supplier.LOG)
        if reason:
            job.trigger(actor=ALICE, reason=reason)
        earlier(job, 7 * MINUTE)
        maintenance.promote(using=USING)
    job.refresh_from_db()
    return job


def _write_mails() -> None:
    for minutes, name in enumerate(("ada", "grace", "edsger", "barbara"), start=5):
        job = jobs.welcome.enqueue(f"{name}@example.com")
        run(Succeeded(f'"<job-{job.pk}@shop.example.com>"'), seconds=0.8, worker=MAIL)
        earlier(job, minutes * MINUTE)
    job = jobs.welcome.enqueue("nobody")
    run(Discarded("'nobody' is no mail address."), seconds=0.1, worker=MAIL)
    earlier(job, 4 * MINUTE)
    jobs.welcome.enqueue("linus@example.com")
    failure = Failure(exception_class="SMTPServerDisconnected", message="Connection unexpectedly closed")
    run(Failed(failure=failure), seconds=30.1, worker=MAIL)
    jobs.welcome.using(delay=2 * HOUR).enqueue("margaret@example.com")
    jobs.count_stock.using(delay=HOUR).enqueue(shelves=80).cancel(actor=BOB, reason="The shelves were counted by hand.")


def _pause_reports() -> None:
    until = clock.read(USING) + timedelta(hours=1)
    operations.pause("reports", actor=BOB, reason="The disk for reports is being moved.", resume_at=until)
    for region in ("north", "south", "west"):
        earlier(jobs.sales_report.enqueue(f"{region}.csv"), 11 * MINUTE)


def _work() -> Job:
    stopping = jobs.slow.enqueue(seconds=600)
    start(stopping, seconds=140)
    stopping.cancel(actor=ALICE, reason="It was started twice.")
    counting = jobs.count_stock.enqueue(shelves=500)
    progress = {"done": 310, "total": 500, "message": "shelf 310"}
    start(counting, seconds=62, progress=progress, log="hall 1 is done\nhall 2 is begun")
    for order, priority in (("5524, by courier", 50), ("5525, by post", 0)):
        jobs.print_label.using(priority=priority).enqueue(f"order {order}")
    _retry_many()
    return counting


def _retry_many() -> None:
    at = clock.read(USING)
    selection = Selection(filter={"state": "dead", "kind": "mail.welcome"}, states=(ShownState.DEAD,), max_id=40, at=at)
    row = bulk.plan("retry", selection, {}, matched=12_480, actor=ALICE, reason="The mail host is back.")
    start(bulk.hand_over(row), seconds=3)
    BulkOperation.objects.filter(pk=row.pk).update(status="running", started_at=at, done=7_950, skipped=50)
