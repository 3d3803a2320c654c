"""The shop's schedules, and what has become of their last slots."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs import clock, operations, schedules
from jobs.models import CronJob, Job
from jobs.operations import Actor
from jobs.outcomes import Failed, Outcome, Succeeded
from jobs.schedules import notes

from . import supplier
from .doing import BACK_OFFICE, HOUR, MINUTE, USING, earlier, run

REPORT = Succeeded('{"products": 5, "cents": 27143200}')
ALICE, BOB = Actor(label="alice"), Actor(label="bob")


def make() -> CronJob:
    """Make them anew, and return the one that is pictured."""
    CronJob.objects.all().delete()
    berlin = {"kind": "reports.sales", "timezone": "Europe/Berlin"}
    nightly = _schedule("nightly report", expression="30 2 * * *", payload={"name": "nightly.csv"}, **berlin)
    stock = _schedule("stock check", kind="stock.check", every=15 * MINUTE, overlap="queue_one")
    prices = _schedule("supplier prices", kind="supplier.sync", expression="*/20 * * * *")
    weekly = _schedule("weekly figures", expression="0 6 * * 1", payload={"name": "week.csv"}, **berlin)
    schedules.tick(using=USING)
    for each, days, outcome in ((nightly, 7, REPORT), (stock, 0.1, Succeeded("[]"))):
        _let_run(each, days, [outcome] * 6)
    refused = Failed(failure=supplier.silence(), is_hopeless=True)
    _let_run(prices, 0.2, [Succeeded(None)] * 4 + [refused])
    operations.disable(CronJob.objects.filter(pk=weekly.pk), actor=BOB, reason="Nobody reads it in December.")
    by_hand = nightly.trigger(actor=ALICE, reason="The board asked for it.")
    run(REPORT, seconds=4.1, worker=BACK_OFFICE)
    earlier(by_hand, 3 * HOUR)
    return nightly


def _schedule(name: str, **values: object) -> CronJob:
    return CronJob.objects.create(name=name, **values)


def _let_run(schedule: CronJob, days: float, outcomes: list[Outcome]) -> None:
    """Let the last slots of a schedule have these outcomes."""
    now = clock.aware(clock.read(USING))
    past = [slot for slot in schedule.upcoming(500, after=now - timedelta(days=days)) if slot < now]
    for number, (slot, outcome) in enumerate(zip(past[-len(outcomes) :], outcomes, strict=True)):
        _slot(schedule, slot, outcome, seconds=2.3 + number / 3, ago=(now - slot).total_seconds())


def _slot(schedule: CronJob, slot: datetime, outcome: Outcome, *, seconds: float, ago: float) -> None:
    job = Job.objects.enqueue(schedule.kind, schedule.payload)
    run(outcome, seconds=seconds)
    Job.objects.filter(pk=job.pk).update(cron=schedule, scheduled_for=slot, origin=Job.Origin.SLOT)
    earlier(job, ago - seconds)
    notes.note(
        [notes.Noted(id=schedule.pk, last_scheduled_for=slot, last_run_at=slot, last_job_id=job.pk)], using=USING
    )
