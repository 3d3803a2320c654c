"""Dead jobs, as a page of their own."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from .job import Job


class DeadLetter(Job):
    """Stands for the page of dead jobs by error, and for the permission to see it; a table of its own it has not."""

    class Meta:
        proxy = True
        verbose_name = _("dead job")
        verbose_name_plural = _("dead jobs by error")
        default_permissions = ("view",)
