"""What people have done to all jobs that matched, and how far it is."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class BulkOperation(models.Model):
    """
    One decision about all jobs that matched a filter at one moment.

    Only ``operations`` writes it. ``filter`` and the columns from ``max_id``
    to ``frozen_at`` say which jobs are meant; ``last_id`` is how far it has
    come, from the newest down.
    """

    class Action(models.TextChoices):
        RETRY = "retry", _("Retry")
        TRIGGER = "trigger", _("Run now")
        POSTPONE = "postpone", _("Postpone")
        REROUTE = "reroute", _("Change queue or priority")
        CANCEL = "cancel", _("Cancel")
        RESCUE = "rescue", _("Take back the lease")
        DISCARD = "discard", _("Discard")

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        RUNNING = "running", _("Running")
        STOPPED = "stopped", _("Stopped")
        FINISHED = "finished", _("Finished")
        FAILED = "failed", _("Failed")

    OPEN = (Status.WAITING, Status.RUNNING)

    action = models.CharField(_("action"), max_length=20, choices=Action.choices)
    parameters = models.JSONField(_("parameters"), default=dict, blank=True)
    filter = models.JSONField(_("filter"), default=dict, blank=True)
    states = models.JSONField(_("states"), default=list, blank=True)
    max_id = models.BigIntegerField(_("largest id"))
    frozen_at = models.DateTimeField(_("as of"))
    # As in events: text, so that it stays readable when the user is gone.
    actor_id = models.CharField(_("actor id"), max_length=100, blank=True, default="")
    actor_label = models.CharField(_("actor"), max_length=200, blank=True, default="")
    reason = models.CharField(_("reason"), max_length=500, blank=True, default="")
    # None without a job of its own: what is small is done at once.
    job = models.ForeignKey(
        "Job",
        verbose_name=_("job"),
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
    )
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.WAITING)
    error = models.CharField(_("error"), max_length=500, blank=True, default="")
    matched = models.BigIntegerField(_("matched"), null=True, blank=True, help_text=_("None: too many to count."))
    done = models.BigIntegerField(_("done"), default=0)
    asked = models.BigIntegerField(_("asked to stop"), default=0)
    skipped = models.BigIntegerField(_("skipped"), default=0)
    blocked = models.BigIntegerField(_("unique key taken"), default=0)
    forbidden = models.BigIntegerField(_("not permitted"), default=0)
    last_id = models.BigIntegerField(_("last id"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"))
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    stop_requested_at = models.DateTimeField(_("stop requested at"), null=True, blank=True)
    stopped_by = models.CharField(_("stopped by"), max_length=200, blank=True, default="")

    class Meta:
        verbose_name = _("bulk operation")
        verbose_name_plural = _("bulk operations")
        default_permissions = ("view",)
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"#{self.pk} {self.get_action_display()}"

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN

    @property
    def looked_at(self) -> int:
        """How many jobs it has come to, whatever became of them."""
        return self.done + self.asked + self.skipped + self.blocked + self.forbidden

    @property
    def left(self) -> int | None:
        """How many jobs it has still to come to, or None where nobody counted them."""
        return None if self.matched is None else max(0, self.matched - self.looked_at)
