"""Queues in use, and which of them are paused."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .. import clock


class QueueQuerySet(models.QuerySet["Queue"]):
    def paused(self) -> QueueQuerySet:
        """Queues that workers must leave alone now: paused, and not past their ``resume_at``."""
        return self.filter(paused_at__isnull=False).exclude(resume_at__lte=clock.now())

    def overdue(self) -> QueueQuerySet:
        """Paused queues whose ``resume_at`` has passed, still to be tidied."""
        return self.filter(Q(paused_at__isnull=False), resume_at__lte=clock.now())


class Queue(models.Model):
    """One row per queue name that a worker or a person has met."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    paused_at = models.DateTimeField(_("paused at"), null=True, blank=True)
    paused_by = models.CharField(_("paused by"), max_length=200, blank=True, default="")
    pause_reason = models.CharField(_("reason"), max_length=500, blank=True, default="")
    resume_at = models.DateTimeField(_("resumes at"), null=True, blank=True)

    objects = QueueQuerySet.as_manager()

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        default_permissions = ("view",)
        permissions = [("pause_queue", _("Can pause and resume queues"))]
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
