"""Worker processes, as they last described themselves."""

from __future__ import annotations

from django.db import models
from django.db.models import Case, Value, When
from django.utils.translation import gettext_lazy as _

from .. import clock
from ..conf import settings


class WorkerQuerySet(models.QuerySet["Worker"]):
    def live(self) -> WorkerQuerySet:
        """Workers that have not stopped and were heard of within one lease."""
        return self.filter(stopped_at__isnull=True, heartbeat_at__gte=clock.in_seconds(-settings.lease_seconds))

    def with_condition(self) -> WorkerQuerySet:
        """
        Add ``condition``: live; late, when two heartbeats are missing; gone,
        when silent for a lease without having stopped; draining; stopped.
        """
        return self.annotate(
            condition=Case(
                When(stopped_at__isnull=False, then=Value(Worker.Condition.STOPPED)),
                When(heartbeat_at__lt=clock.in_seconds(-settings.lease_seconds), then=Value(Worker.Condition.GONE)),
                When(draining_at__isnull=False, then=Value(Worker.Condition.DRAINING)),
                When(
                    heartbeat_at__lt=clock.in_seconds(-2 * settings.heartbeat_seconds - 1),
                    then=Value(Worker.Condition.LATE),
                ),
                default=Value(Worker.Condition.LIVE),
                output_field=models.CharField(),
            )
        )


class Worker(models.Model):
    """One row per start of a worker process; ``name`` is never used twice."""

    class Condition(models.TextChoices):
        LIVE = "live", _("Live")
        LATE = "late", _("Late")
        DRAINING = "draining", _("Draining")
        STOPPED = "stopped", _("Stopped")
        GONE = "gone", _("Gone")

    name = models.CharField(_("name"), max_length=200, unique=True)
    hostname = models.CharField(_("host"), max_length=200)
    pid = models.PositiveIntegerField(_("process"))
    version = models.CharField(_("version"), max_length=50)
    queues = models.JSONField(_("queues"), default=list, help_text=_("Empty: all."))
    kinds = models.JSONField(_("kinds"), default=list)
    concurrency = models.PositiveIntegerField(_("concurrency"))
    running = models.PositiveIntegerField(_("running"), default=0, db_default=0)
    refused = models.PositiveIntegerField(
        _("refused writes"), default=0, db_default=0, help_text=_("Results that came after the lease was lost.")
    )
    started_at = models.DateTimeField(_("started at"))
    heartbeat_at = models.DateTimeField(_("last heartbeat"))
    clock_skew = models.FloatField(
        _("clock skew"), default=0.0, help_text=_("Seconds its host's clock was ahead of the database's at the start.")
    )
    drain_requested_at = models.DateTimeField(_("drain requested at"), null=True, blank=True)
    draining_at = models.DateTimeField(_("draining since"), null=True, blank=True)
    stopped_at = models.DateTimeField(_("stopped at"), null=True, blank=True)

    objects = WorkerQuerySet.as_manager()

    class Meta:
        verbose_name = _("worker")
        verbose_name_plural = _("workers")
        default_permissions = ("view",)
        permissions = [("drain_worker", _("Can drain workers"))]
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
