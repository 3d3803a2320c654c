"""The one clock: every stored time, and every comparison of stored times, is the database's own."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connections
from django.db.models import DateTimeField, ExpressionWrapper, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

# Django's Now() is STATEMENT_TIMESTAMP() on PostgreSQL: the time of this
# statement, not of the transaction, which may have begun long before.
now = Now


def in_seconds(offset: float) -> Combinable:
    """Return the expression for the database's now plus ``offset`` seconds (negative for the past)."""
    return ExpressionWrapper(Now() + Value(timedelta(seconds=offset)), output_field=DateTimeField())


def read(using: str) -> datetime:
    """Ask database ``using`` what time it is (one query)."""
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(_NOW[connection.vendor])
        moment = cursor.fetchone()[0]
    if isinstance(moment, datetime):
        return moment
    parsed = datetime.fromisoformat(moment)
    return parsed if settings.USE_TZ else parsed.replace(tzinfo=None)


_NOW = {
    "postgresql": "SELECT STATEMENT_TIMESTAMP()",
    "sqlite": "SELECT STRFTIME('%Y-%m-%dT%H:%M:%f+00:00', 'NOW')",
}
