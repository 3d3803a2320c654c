"""
Schedules of other apps, brought over into ours.

What stands in their tables is translated and shown before anything is
created. Nothing of theirs is imported, changed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.apps import apps

from . import celery_beat, django_q2
from .creating import Created, create
from .found import Found

__all__ = ["SOURCES", "Created", "Found", "Source", "create"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Another app: what to install, what to put into INSTALLED_APPS, and how its tables are read."""

    package: str
    app: str
    read: Callable[..., list[Found]]

    @property
    def is_installed(self) -> bool:
        return apps.is_installed(self.app)

    def found(self, *, now: datetime) -> list[Found]:
        """Return what its rows would be here."""
        return self.read(now=now)


SOURCES = {
    "celery-beat": Source(package="django-celery-beat", app="django_celery_beat", read=celery_beat.read),
    "django-q2": Source(package="django-q2", app="django_q", read=django_q2.read),
}
