"""The one clock: every stored time, and every comparison of stored times, is the database's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import DateTimeField, ExpressionWrapper, Field, Func, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Now
from django.utils import timezone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

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


def aware(moment: datetime) -> datetime:
    """Return a stored time as UTC. Without USE_TZ it is in the site's zone, and the first of two in autumn."""
    if timezone.is_naive(moment):
        moment = timezone.make_aware(moment, timezone.get_default_timezone())
    return moment.astimezone(UTC)


class _InstantField(Field):  # type: ignore[type-arg]
    def from_db_value(self, value: Any, *_: Any) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        return EPOCH + timedelta(microseconds=int(Decimal(value) * 1_000_000))


class Instant(Func):
    """A stored time, read as UTC to the microsecond whatever USE_TZ says: a naive one is two instants in autumn."""

    arity = 1
    output_field = _InstantField()

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **extra: Any) -> Any:
        template = "CAST(%(expressions)s AS TEXT)"
        if connection.vendor == "postgresql":
            template = "EXTRACT(EPOCH FROM %(expressions)s)"
        return super().as_sql(compiler, connection, template=template, **extra)


def at(moment: datetime | None) -> Any:
    """Return what stores this instant, whatever USE_TZ says."""
    if moment is None or settings.USE_TZ:
        return moment
    return Cast(Value(moment.isoformat(), output_field=TextField()), DateTimeField())
