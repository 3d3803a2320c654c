"""The handlers that are measured."""

import time

from django.db import connection

from jobs import JobContext, job


@job("bench.noop")
def noop() -> None:
    """Do nothing, so that all the time is the system's own."""


@job("bench.select")
def select() -> None:
    """Ask the database one thing, as the least that most handlers do."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()


@job("bench.welcome")
def welcome(user_id: int, template: str) -> None:
    """Stand for a job with a small payload."""


@job("bench.wait", takes_context=True)
def wait(ctx: JobContext, seconds: float) -> None:
    """Run for so long, or until told to stop."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ctx.check()
        time.sleep(0.01)
