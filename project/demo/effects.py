"""Whether jobs did what they were for: the mails, the report and the stock, looked at from outside."""

import csv
from pathlib import Path

from django.conf import settings

from jobs.models import Job, JobRun
from project.jobs import REPORTS
from project.models import Product

from . import shop
from .endings import Check, Finding, History


def mail_sent(*, to: str, attached: str = "") -> Check:
    """Look for exactly one mail with the Message-ID that the job returned."""

    def check(history: History) -> Finding:
        mails = [path.read_text() for path in Path(settings.EMAIL_FILE_PATH).glob("*.log")]
        sent = [mail for mail in mails if f"Message-ID: {history.job.result}" in mail]
        if len(sent) != 1:
            return Finding(is_good=False, text=f"should send one mail to {to}: there are {len(sent)}")
        is_good = f"To: {to}" in sent[0] and attached in sent[0]
        return Finding(
            is_good, f"one mail to {to}" if is_good else f"the mail is not to {to} with {attached or 'no file'}"
        )

    return check


def report_written(name: str) -> Check:
    """Look for a CSV with the totals that the orders have."""

    def check(_: History) -> Finding:
        path = REPORTS / name
        if not path.exists():
            return Finding(is_good=False, text=f"{name} does not exist")
        with path.open(newline="") as file:
            is_good = list(csv.reader(file)) == shop.expected_report()
        return Finding(is_good, f"{name}, with the right totals" if is_good else f"{name} has wrong totals")

    return check


def stock_booked(product_id: int, pieces: int) -> Check:
    """Look for a stock that is ``pieces`` lower, and not twice as much."""

    def check(_: History) -> Finding:
        booked = shop.PIECES_IN_STOCK - Product.objects.get(pk=product_id).pieces
        return Finding(booked == pieces, f"{booked} pieces booked" + ("" if booked == pieces else f", not {pieces}"))

    return check


def slots_ran_once(name: str) -> Check:
    """Look for slots of a schedule that came since the job was enqueued: each has one job."""

    def check(history: History) -> Finding:
        slots = Job.objects.filter(
            cron__name=name, scheduled_for__isnull=False, enqueued_at__gte=history.job.enqueued_at
        ).values_list("scheduled_for", flat=True)
        is_good = 0 < len(slots) == len(set(slots))
        return Finding(is_good, f"run by hand; {len(slots)} slots of its schedule ran meanwhile, each once")

    return check


def started_before(job_id: int, title: str) -> Check:
    """Look for a start before that of another job, which was enqueued earlier."""

    def check(history: History) -> Finding:
        is_good = not JobRun.objects.filter(job=job_id, started_at__lte=history.runs[0].started_at).exists()
        return Finding(is_good, f"enqueued after {title}, started {'before' if is_good else 'NOT before'} it")

    return check
