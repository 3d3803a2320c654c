"""Handlers that live for one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jobs import declarations, registry


@contextmanager
def own_registry() -> Iterator[None]:
    """Forget afterwards what was registered meanwhile."""
    before, declared = dict(registry._by_kind), dict(declarations._declared)
    try:
        yield
    finally:
        registry._by_kind.clear()
        registry._by_kind.update(before)
        declarations._declared.clear()
        declarations._declared.update(declared)
