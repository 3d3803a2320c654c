"""The jobs of the show, and how each should end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from django.db import transaction

from jobs import JobDefinition
from jobs.conf import settings
from jobs.models import CronJob, Job, JobRun
from jobs.operations import Actor
from jobs.states import LIVE, State
from project import jobs
from project.models import Order, Product

from . import effects, endings
from .endings import Role

P = ParamSpec("P")
R = TypeVar("R")

Outcome = JobRun.Outcome
SHOW = Actor(label="the demo")
PERSON = Actor(label="a person")
RESCUE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """``to_cancel`` is the job that is cancelled while it runs; ``again`` what a second enqueue of the unique one gave."""

    roles: list[Role]
    to_cancel: Job
    again: Job


def clear_leftovers() -> int:
    """Cancel the jobs that an interrupted show left behind; return how many."""
    left = Job.objects.filter(metadata__show=True, state__in=LIVE)
    report = left.cancel(actor=SHOW, reason="Left over from an earlier demo.")
    return report.moved + report.asked


def enqueue(token: str) -> Cast:
    """
    Enqueue all in one transaction: workers see everything at once, or nothing.

    ``token`` is new for each show, so that no file or key of another is met.
    """
    with transaction.atomic():
        roles = [*_mails(), *_report(f"sales-{token}.csv"), *_shop(), *_labels(), *_scheduled(), *_lessons()]
        counting = _show(jobs.count_stock).enqueue(shelves=500)
        sync = _show(jobs.sync_supplier, unique_key=f"sync:{token}")
        first, again = sync.enqueue(), sync.enqueue()
    roles += [_cancelled(counting), _unique(first, again)]
    return Cast(roles=roles, to_cancel=counting, again=again)


def visit(number: int) -> None:
    """Let a customer sign up and order something: what keeps a shop's workers busy."""
    customer = f"visitor{number}@example.com"
    with transaction.atomic():
        product = Product.objects.order_by("pk")[number % 5]
        order = Order.objects.create(customer=customer, product=product, pieces=1)
        _show(jobs.welcome).enqueue(customer)
        _show(jobs.book_stock).enqueue(order.pk)
        _show(jobs.print_label, priority=number % 3).enqueue(f"order {order.pk}")
        _show(jobs.flaky).enqueue()


def _mails() -> Iterator[Role]:
    yield Role(
        title="welcome mail",
        job_id=_show(jobs.welcome).enqueue("ada@example.com").pk,
        checks=[endings.ran_once, effects.mail_sent(to="ada@example.com")],
    )
    yield Role(
        title="welcome mail in 5 s",
        job_id=_show(jobs.welcome, delay=5).enqueue("grace@example.com").pk,
        checks=[endings.ran_once, endings.started_after(5), effects.mail_sent(to="grace@example.com")],
    )
    yield Role(
        title="mail to nobody",
        job_id=_show(jobs.welcome).enqueue("nobody").pk,
        ends=State.DEAD,
        checks=[endings.outcomes(Outcome.DISCARDED, text="discarded"), endings.says("is no mail address")],
    )


def _report(name: str) -> Iterator[Role]:
    yield Role(
        title="mail the report",
        job_id=_show(jobs.mail_report).enqueue(name, to="boss@example.com").pk,
        checks=[endings.waited_first, effects.mail_sent(to="boss@example.com", attached=name)],
    )
    yield Role(
        title="sales report",
        job_id=_show(jobs.sales_report, delay=1).enqueue(name).pk,
        checks=[endings.ran_once, effects.report_written(name)],
    )


def _shop() -> Iterator[Role]:
    order = Order.objects.order_by("pk")[0]
    yield Role(
        title="book stock",
        job_id=_show(jobs.book_stock).enqueue(order.pk).pk,
        checks=[
            endings.outcomes(Outcome.FAILED, Outcome.SUCCEEDED, text="failed and rolled back first"),
            effects.stock_booked(order.product_id, order.pieces),
        ],
    )
    yield Role(
        title="call the courier",
        job_id=_show(jobs.call_courier).enqueue().pk,
        checks=[endings.outcomes(Outcome.FAILED, Outcome.SUCCEEDED, text="asked for a retry in 1.5 s, and got it")],
    )


def _labels() -> Iterator[Role]:
    slow = _show(jobs.print_label, priority=-10).enqueue("by post").pk
    fast = _show(jobs.print_label, priority=50).enqueue("by courier").pk
    yield Role(title="label, low priority", job_id=slow, checks=[endings.ran_once])
    before = effects.started_before(slow, f"#{slow}")
    yield Role(title="label, high priority", job_id=fast, checks=[endings.ran_once, before])


def _unique(job: Job, again: Job) -> Role:
    def same_job(_: endings.History) -> endings.Finding:
        is_good = job.created and not again.created and job.pk == again.pk
        return endings.Finding(is_good, "enqueued twice, one job" if is_good else f"became #{job.pk} and #{again.pk}")

    return Role(title="unique", job_id=job.pk, checks=[endings.ran_once, same_job])


def _cancelled(job: Job) -> Role:
    stopped = endings.outcomes(Outcome.CANCELLED, text="asked to while it ran; the handler obeyed")
    return Role(title="cancelled", job_id=job.pk, ends=State.CANCELLED, checks=[stopped])


def _lessons() -> Iterator[Role]:
    yield Role(title="flaky", job_id=_show(jobs.flaky).enqueue().pk, checks=[endings.failed_first])
    yield Role(
        title="slow",
        job_id=_show(jobs.slow).enqueue(seconds=2 * settings.lease_seconds).pk,
        checks=[endings.outlived_lease(settings.lease_seconds)],
    )
    yield Role(
        title="crash",
        job_id=_show(jobs.crash, delay=1).enqueue().pk,
        checks=[endings.taken_over(within=settings.lease_seconds + RESCUE_SECONDS)],
    )
    yield Role(
        title="poison",
        job_id=_show(jobs.poison).enqueue().pk,
        ends=State.DEAD,
        checks=[
            endings.outcomes(*[Outcome.FAILED] * 3, text="failed 3 times, with longer and longer pauses"),
            endings.says("This cannot work."),
        ],
    )


def _scheduled() -> Iterator[Role]:
    """Run a schedule by hand; its own slots come by themselves."""
    by_hand = CronJob.objects.get(name="stock check").trigger(actor=PERSON, reason="To see it at work.")
    yield Role(title="stock check", job_id=by_hand.pk, checks=[endings.ran_once, effects.slots_ran_once("stock check")])


def _show(definition: JobDefinition[P, R], **options: Any) -> JobDefinition[P, R]:
    """Mark what is enqueued as part of the show, for ``clear_leftovers``."""
    return definition.using(metadata={"show": True}, **options)
