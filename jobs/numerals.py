"""Numbers as the reader's language writes them."""

from __future__ import annotations

from decimal import Decimal

from django.utils.formats import number_format


def grouped(number: int) -> str:
    """Return a whole number with its thousands set apart."""
    return number_format(number, use_l10n=True, force_grouping=True)


def short(number: float) -> str:
    """Return a number with the three digits that matter."""
    return number_format(Decimal(f"{number:.3g}"), use_l10n=True)
