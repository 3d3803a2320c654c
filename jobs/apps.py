"""The app itself. Its label, ``jobs``, is fixed: migrations and table names carry it."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class JobsConfig(AppConfig):
    name = "jobs"
    label = "jobs"
    verbose_name = _("Jobs")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Import the ``jobs`` and ``tasks`` modules of every installed app, so that their handlers are registered."""
        from . import checks, signals  # noqa: F401

        autodiscover_modules("jobs", "tasks")
