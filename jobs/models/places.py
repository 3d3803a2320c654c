"""Comparing rows with a place, whole row with whole row: an index of those columns has the rest as one range."""

from __future__ import annotations

from typing import Any

from django.db.models import BigIntegerField, BooleanField, DateTimeField, F, Func, Value


def comes_after(column: str, at: Any, job_id: int, *, rising: bool) -> Func:
    """Return the condition that a row comes after this time in ``column`` and this id, in rising or falling order."""
    place = _Row(
        at if hasattr(at, "resolve_expression") else Value(at, DateTimeField()), Value(job_id, BigIntegerField())
    )
    return _Compared(_Row(F(column), F("pk")), place, arg_joiner=" > " if rising else " < ")


class _Row(Func):
    template = "(%(expressions)s)"
    output_field = BigIntegerField()


class _Compared(Func):
    template = "%(expressions)s"
    output_field = BooleanField()
