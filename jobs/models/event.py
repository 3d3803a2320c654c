"""What people and the system decided."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


class JobEvent(models.Model):
    """A decision about a job, a queue or a worker, with who and why; append-only. Ordinary transitions write none."""

    class Kind(models.TextChoices):
        ENQUEUED = "enqueued", _("Enqueued by hand")
        COPIED = "copied", _("Copied")
        RETRIED = "retried", _("Retried")
        CANCELLED = "cancelled", _("Cancelled")
        CANCEL_REQUESTED = "cancel_requested", _("Asked to stop")
        RESCUED = "rescued", _("Lease taken back")
        TRIGGERED = "triggered", _("Run now")
        POSTPONED = "postponed", _("Postponed")
        REROUTED = "rerouted", _("Queue or priority changed")
        DISCARDED = "discarded", _("Discarded")
        QUARANTINED = "quarantined", _("Quarantined")
        PAUSED = "paused", _("Paused")
        RESUMED = "resumed", _("Resumed")
        DRAINED = "drained", _("Asked to drain")
        ENABLED = "enabled", _("Enabled")
        DISABLED = "disabled", _("Disabled")
        SKIPPED = "skipped", _("Skipped")
        BACKFILLED = "backfilled", _("Backfilled")
        BULK = "bulk", _("Bulk operation ended")
        PAYLOAD_VIEWED = "payload_viewed", _("Saw what is masked")

    at = models.DateTimeField(_("at"))
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    job = models.ForeignKey(
        "Job",
        verbose_name=_("job"),
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="events",
    )
    queue = models.CharField(_("queue"), max_length=100, blank=True, default="")
    worker = models.CharField(_("worker"), max_length=200, blank=True, default="")
    cron = models.ForeignKey(
        "CronJob",
        verbose_name=_("schedule"),
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="events",
    )
    # Of skipped and backfilled slots: reason, first, last (UTC, ISO 8601) and count.
    slots = models.JSONField(_("slots"), default=dict, blank=True)
    # Text, not a foreign key: it works without auth, behind a router, with any
    # user model, and stays readable when the user is gone.
    actor_id = models.CharField(_("actor id"), max_length=100, blank=True, default="")
    actor_label = models.CharField(_("actor"), max_length=200, blank=True, default="")
    reason = models.CharField(_("reason"), max_length=500, blank=True, default="")
    changes = models.JSONField(
        _("changes"), default=dict, blank=True, help_text=_("What was changed, from what and to what.")
    )

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        default_permissions = ("view",)
        ordering = ("-id",)

    def __str__(self) -> str:
        who = self.actor_label or gettext("the system")
        return gettext("%(event)s by %(who)s") % {"event": self.get_kind_display(), "who": who}
