"""The handlers that are measured."""

from django.db import connection

from jobs import job


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
