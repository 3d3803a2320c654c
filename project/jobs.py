"""
The demo shop's jobs. Each is a plain function, and each shows one thing that a handler can do.

A handler may run more than once, as when its worker dies after the work and
before the result is written down. So each of these can be repeated without
harm: see how.
"""

import asyncio
import csv
import os
import random
import signal
import time
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db.models import F

from jobs import Backoff, Discard, JobContext, Retry, Snooze, job, schedule

from .models import Order, Product

REPORTS = Path(settings.VAR_DIR) / "reports"


@job("mail.welcome", queue="mail", max_attempts=5, timeout=60, takes_context=True)
def welcome(ctx: JobContext, customer: str) -> str:
    """Greet a new customer. Hopeless input is discarded, since no retry could make it right."""
    try:
        validate_email(customer)
    except ValidationError:
        raise Discard(f"{customer!r} is no mail address.") from None
    return _send(ctx, customer, subject="Welcome", body="Thank you for your first order.")


@job("reports.sales", queue="reports", takes_context=True)
def sales_report(ctx: JobContext, name: str) -> dict[str, int]:
    """Compute the revenue of each product and write it as CSV, whole or not at all."""
    products = list(Order.objects.by_product())
    REPORTS.mkdir(parents=True, exist_ok=True)
    draft = REPORTS / f".{name}.{ctx.fencing_token}"
    with draft.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["product", "orders", "pieces", "revenue"])
        for number, row in enumerate(products, start=1):
            writer.writerow([row["name"], row["orders"], row["sold"], f"{row['cents'] / 100:.2f}"])
            time.sleep(0.15)
            # This is also where a cancel or a timeout takes effect: it raises.
            ctx.progress(number, len(products))
    draft.replace(REPORTS / name)
    return {"products": len(products), "cents": sum(row["cents"] for row in products)}


@job("reports.mail", queue="mail", takes_context=True)
def mail_report(ctx: JobContext, name: str, to: str) -> str:
    """Send a report once it is written. Waiting for something else is not a failure: snooze, and spend no attempt."""
    path = REPORTS / name
    if not path.exists():
        raise Snooze(1, f"{name} is not written yet.")
    return _send(ctx, to, subject="Sales", body="The report is attached.", attachment=path)


@job("stock.book", atomic=True, takes_context=True, backoff=1)
def book_stock(ctx: JobContext, order_id: int) -> int:
    """
    Take an order's pieces out of stock, exactly once.

    ``atomic`` puts the handler and the note that it succeeded into one
    transaction. Here the first attempt fails after the update, and the
    rollback takes the update back.
    """
    order = Order.objects.get(pk=order_id)
    Product.objects.filter(pk=order.product_id).update(pieces=F("pieces") - order.pieces)
    if ctx.attempt == 1:
        raise ConnectionError("The label service hung up.")
    return order.pieces


@job("courier.call", takes_context=True, timeout=20)
async def call_courier(ctx: JobContext) -> str:
    """Call an outside service that says when to come back, as with HTTP's Retry-After. Handlers may be async."""
    await asyncio.sleep(0.1)
    if ctx.attempt == 1:
        raise Retry("The courier's line is busy.", after=1.5)
    return "comes at noon"


@job("labels.print", queue="printing")
def print_label(order: str) -> None:
    """Keep the one printer busy for a moment: the job with the highest priority gets it first."""
    time.sleep(0.6)


@job("stock.count", takes_context=True)
def count_stock(ctx: JobContext, shelves: int) -> int:
    """Do something long that a person may cancel: ``progress`` reports, and raises when it is time to stop."""
    for shelf in range(shelves):
        ctx.progress(shelf, shelves, f"shelf {shelf}")
        time.sleep(0.2)
    return shelves


@job("supplier.sync")
def sync_supplier() -> None:
    """Fetch the supplier's prices. It is enqueued under a unique key, so that clicking twice fetches once."""
    time.sleep(0.3)


@job("demo.flaky", max_attempts=20, backoff=0.4)
def flaky() -> None:
    """Fail 60 times in 100. Any exception is a failed attempt, and the next one comes after the backoff."""
    if random.random() < 0.6:  # noqa: S311
        raise TimeoutError("The network is not at its best.")


@job("demo.slow", takes_context=True)
def slow(ctx: JobContext, seconds: float) -> None:
    """Run for longer than a lease. The worker's heartbeat renews the lease, so nobody else gets the job."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ctx.check()
        time.sleep(0.1)


@job("demo.crash", queue="risky", takes_context=True)
def crash(ctx: JobContext) -> str:
    """Kill the worker process on the first attempt, as the kernel does when memory runs out."""
    if ctx.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


@job("demo.poison", max_attempts=3, backoff=Backoff(base=1.5, cap=10, jitter=0.1))
def poison() -> None:
    """Fail always: after the last attempt the job is dead, and waits for a person to look and to retry it."""
    raise ValueError("This cannot work.")


@job("stock.check")
def check_stock() -> list[str]:
    """Name the products that are running out. Repeating it changes nothing."""
    return list(Product.objects.filter(pieces__lt=10).order_by("name").values_list("name", flat=True))


# Each slot becomes one job, whichever worker comes first. One that is still going makes the next one wait.
schedule(check_stock, every=3, name="stock check", overlap="queue_one", metadata={"show": True})
schedule(
    "reports.sales", cron="30 2 * * *", timezone="Europe/Berlin", name="nightly report", payload={"name": "nightly.csv"}
)


def _send(ctx: JobContext, to: str, *, subject: str, body: str, attachment: Path | None = None) -> str:
    """
    Send a mail and return its Message-ID.

    The id is the same in every attempt, so that a mailbox can tell a mail that
    was sent twice from two mails.
    """
    message_id = f"<{ctx.idempotency_key}@shop.example.com>"
    mail = EmailMessage(subject, body, to=[to], headers={"Message-ID": message_id})
    if attachment is not None:
        mail.attach_file(str(attachment))
    mail.send()
    return message_id
