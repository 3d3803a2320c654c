"""What happened in each attempt."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..outcomes import RunOutcome


class JobRun(models.Model):
    """One attempt that ended; append-only. What was handed back unstarted has none."""

    Outcome = RunOutcome

    # No database constraint: it would cost a key-share lock on the job for
    # every run written. Pruning deletes a job together with its runs.
    job = models.ForeignKey(
        "Job",
        verbose_name=_("job"),
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="runs",
    )
    attempt = models.PositiveIntegerField(_("attempt"))
    claim_no = models.PositiveIntegerField(_("claim number"))
    worker = models.CharField(_("worker"), max_length=200)
    outcome = models.CharField(_("outcome"), max_length=10, choices=RunOutcome.choices)
    due_at = models.DateTimeField(_("due at"))
    started_at = models.DateTimeField(_("started at"), null=True)
    finished_at = models.DateTimeField(_("finished at"))
    exception_class = models.CharField(_("exception"), max_length=200, blank=True, default="")
    message = models.TextField(_("message"), blank=True, default="")
    traceback = models.TextField(_("traceback"), blank=True, default="")
    log = models.TextField(_("log"), blank=True, default="")

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        default_permissions = ("view",)
        ordering = ("-id",)
        constraints = [models.UniqueConstraint(name="job_run_once_a_claim", fields=["job", "claim_no"])]

    def __str__(self) -> str:
        return gettext("run %(number)d of job #%(job)d") % {"number": self.claim_no, "job": self.job_id}
