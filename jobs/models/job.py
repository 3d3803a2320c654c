"""The unit of work."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from ..retry import Backoff
from ..states import FINAL, LIVE, State
from .queryset import JobQuerySet

if TYPE_CHECKING:
    from ..operations import Actor

READY = Q(state=State.PENDING, losses=0)


class Job(models.Model):
    """
    One job, from enqueue to a final state and until retention prunes it.

    Rows change only through ``move`` (people, promotion), ``leases`` (all that
    happens while running) and enqueue; never through ``save()``.
    """

    State = State

    class Origin(models.TextChoices):
        SLOT = "slot", _("Slot of its schedule")
        MANUAL = "manual", _("Run by hand")
        BACKFILL = "backfill", _("Backfilled")

    kind = models.CharField(_("kind"), max_length=200)
    args = models.JSONField(_("args"), default=list, blank=True)
    payload = models.JSONField(_("payload"), default=dict, blank=True)
    queue = models.CharField(_("queue"), max_length=100, default="default")
    priority = models.SmallIntegerField(_("priority"), default=0, help_text=_("-100 to 100; higher runs first."))
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.PENDING)
    run_at = models.DateTimeField(_("run at"), help_text=_("Not before this time."))
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    enqueued_at = models.DateTimeField(_("enqueued at"))
    attempt = models.PositiveIntegerField(_("attempt"), default=0, db_default=0)
    max_attempts = models.PositiveIntegerField(_("max attempts"))
    backoff_base = models.FloatField(_("backoff base"))
    backoff_cap = models.FloatField(_("backoff cap"))
    backoff_jitter = models.FloatField(_("backoff jitter"))
    timeout = models.FloatField(_("timeout"), null=True, blank=True, help_text=_("Seconds."))
    unique_key = models.CharField(_("unique key"), max_length=250, null=True, blank=True)  # noqa: DJ001 (NULL is "none")
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    # Without constraint and index, as it is only ever followed from the copy.
    copied_from = models.ForeignKey(
        "self",
        verbose_name=_("copied from"),
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="copies",
    )
    # Without a constraint: a schedule may be deleted while its jobs are kept.
    cron = models.ForeignKey(
        "CronJob",
        verbose_name=_("schedule"),
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="jobs",
    )
    scheduled_for = models.DateTimeField(_("scheduled for"), null=True, blank=True, help_text=_("Its slot."))
    origin = models.CharField(_("origin"), max_length=10, choices=Origin.choices, default="", db_default="", blank=True)
    # Never decreases, not even on release or retry: a late worker is told apart
    # from the present one by this number alone.
    claim_no = models.PositiveIntegerField(_("claim number"), default=0, db_default=0)
    lease_owner = models.CharField(_("lease owner"), max_length=200, default="", db_default="", blank=True)
    lease_expires_at = models.DateTimeField(_("lease expires at"), null=True, blank=True)
    started_at = models.DateTimeField(_("started at"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished at"), null=True, blank=True)
    cancel_requested_at = models.DateTimeField(_("cancel requested at"), null=True, blank=True)
    losses = models.PositiveSmallIntegerField(
        _("losses"), default=0, db_default=0, help_text=_("Workers that died while running it.")
    )
    stranded = models.PositiveSmallIntegerField(
        _("stranded"), default=0, db_default=0, help_text=_("Leases that expired before it was seen to start.")
    )
    unknown_since = models.DateTimeField(_("no handler since"), null=True, blank=True)
    result = models.JSONField(_("result"), null=True, blank=True)
    error = models.CharField(_("error"), max_length=500, default="", db_default="", blank=True)
    progress = models.JSONField(_("progress"), null=True, blank=True)
    log = models.TextField(_("log"), default="", db_default="", blank=True)

    objects = JobQuerySet.as_manager()

    # Set by enqueue: False where a live job already held the unique key.
    created: bool = False

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        default_permissions = ("view",)
        permissions = [
            ("enqueue_job", _("Can enqueue and copy jobs")),
            ("retry_job", _("Can retry dead and cancelled jobs")),
            ("reschedule_job", _("Can run jobs now, postpone them, and change their queue and priority")),
            ("cancel_job", _("Can cancel jobs")),
            ("rescue_job", _("Can take jobs from workers whose lease has expired")),
            ("discard_job", _("Can discard dead jobs")),
            ("export_job", _("Can export jobs")),
            ("view_job_payload", _("Can see what is masked in jobs")),
        ]
        constraints = [
            models.CheckConstraint(
                name="job_leased_iff_running",
                condition=Q(state=State.RUNNING, lease_expires_at__isnull=False)
                | (~Q(state=State.RUNNING) & Q(lease_expires_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="job_finished_iff_final",
                condition=Q(state__in=FINAL, finished_at__isnull=False)
                | (~Q(state__in=FINAL) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(name="job_has_an_attempt", condition=Q(max_attempts__gte=1)),
            models.UniqueConstraint(
                name="job_unique_key",
                fields=["unique_key"],
                condition=Q(unique_key__isnull=False, state__in=LIVE),
            ),
            models.UniqueConstraint(
                name="job_unique_slot", fields=["cron", "scheduled_for"], condition=Q(scheduled_for__isnull=False)
            ),
        ]
        # Lease time is in no index, so that a heartbeat's update stays HOT.
        indexes = [
            models.Index(F("priority").desc(), "run_at", "id", name="job_claim", condition=READY),
            models.Index("queue", F("priority").desc(), "run_at", "id", name="job_claim_queue", condition=READY),
            models.Index(
                F("priority").desc(), "run_at", "id", name="job_suspect", condition=Q(state=State.PENDING, losses__gt=0)
            ),
            models.Index("run_at", "id", name="job_promote", condition=Q(state=State.SCHEDULED)),
            models.Index("run_at", "id", name="job_backing_off", condition=Q(state=State.SCHEDULED, attempt__gt=0)),
            models.Index("lease_owner", "id", name="job_running", condition=Q(state=State.RUNNING)),
            models.Index("cron", "id", name="job_cron", condition=Q(cron__isnull=False)),
            models.Index("cron", name="job_cron_live", condition=Q(cron__isnull=False, state__in=LIVE)),
            models.Index("state", "finished_at", "id", name="job_final", condition=Q(finished_at__isnull=False)),
            models.Index(
                "expires_at",
                name="job_expire",
                condition=Q(expires_at__isnull=False, state__in=[State.SCHEDULED, State.PENDING]),
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.kind}"

    @property
    def backoff(self) -> Backoff:
        return Backoff.stored(self.backoff_base, self.backoff_cap, self.backoff_jitter)

    def retry(self, *, actor: Actor | None = None, reason: str = "") -> bool:
        """Make a dead or cancelled job pending with a fresh budget; refresh it and say whether it moved."""
        from .. import operations

        return self._refreshed(operations.retry, actor=actor, reason=reason)

    def cancel(self, *, actor: Actor | None = None, reason: str = "") -> bool:
        """Cancel now, or ask a running handler to stop; refresh the job and say whether anything was done."""
        from .. import operations

        return self._refreshed(operations.cancel, actor=actor, reason=reason)

    def trigger(self, *, actor: Actor | None = None, reason: str = "") -> bool:
        """Make a scheduled job pending now; refresh it and say whether it moved."""
        from .. import operations

        return self._refreshed(operations.trigger, actor=actor, reason=reason)

    def postpone(self, *, run_at: datetime, actor: Actor | None = None, reason: str = "") -> bool:
        """Let a job that waits do so until ``run_at``; refresh it and say whether it does."""
        from .. import operations

        return self._refreshed(operations.postpone, run_at=run_at, actor=actor, reason=reason)

    def reroute(
        self,
        *,
        queue: str | None = None,
        priority: int | None = None,
        actor: Actor | None = None,
        reason: str = "",
    ) -> bool:
        """Give a job that waits another queue or priority; refresh it and say whether anything changed."""
        from .. import operations

        return self._refreshed(operations.reroute, queue=queue, priority=priority, actor=actor, reason=reason)

    def discard(self, *, actor: Actor | None = None, reason: str = "") -> bool:
        """Make a dead job cancelled, for good; refresh it and say whether it moved."""
        from .. import operations

        return self._refreshed(operations.discard, actor=actor, reason=reason)

    def explain(self) -> str:
        """Say why the job is in its state, as this instance has it, and what happens next."""
        from .. import stats

        return stats.explain(self)

    def _refreshed(self, operation: Any, **values: Any) -> bool:
        report = operation(type(self).objects.using(self._state.db).filter(pk=self.pk), **values)
        self.refresh_from_db(using=self._state.db)
        return bool(report.moved or report.asked)
