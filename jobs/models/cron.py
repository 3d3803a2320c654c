"""Schedules: recurring work, materialised into ordinary jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings as django_settings
from django.core.exceptions import ValidationError
from django.db import models, router, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from .. import clock, schedule_values
from ..cron import MAX_LENGTH
from ..exceptions import InvalidSchedule
from ..schedule_checks import EARLIEST, LATEST
from ..slots import NEVER, CatchUp, Overlap
from ..wakeups import SOON, Wakeup, announce
from .cron_queryset import KEPT_BY_TICK, PLANNING, TIMES_OF_TICK, CronJobQuerySet

if TYPE_CHECKING:
    from ..operations import Actor
    from .job import Job


def _in_range(name: str) -> Q:
    bounds = {f"{name}__gte": EARLIEST, f"{name}__lt": LATEST}
    return Q(**{f"{name}__isnull": True}) | Q(**bounds)


def site_timezone() -> str:
    return django_settings.TIME_ZONE


class CronJob(models.Model):
    """
    A schedule: cron expression or interval, and the job that each of its slots becomes.

    A slot is a moment the rule names; the job of a slot is unique by
    ``(cron, scheduled_for)``. What the job says nothing about (``None`` or
    empty) is left to its handler.
    """

    CatchUp = CatchUp
    Overlap = Overlap
    # As the row had them: only what is new has to have a handler.
    _stored: tuple[str | None, bool | None] = (None, None)

    class Origin(models.TextChoices):
        PERSON = "person", _("Made by a person")
        CODE = "code", _("Declared in code")

    name = models.CharField(_("name"), max_length=200, unique=True)
    origin = models.CharField(_("origin"), max_length=10, choices=Origin.choices, default=Origin.PERSON, editable=False)
    declared = models.JSONField(_("as declared"), default=dict, blank=True, editable=False)

    kind = models.CharField(_("kind"), max_length=200)
    args = models.JSONField(_("args"), default=list, blank=True)
    payload = models.JSONField(_("payload"), default=dict, blank=True)
    queue = models.CharField(_("queue"), max_length=100, blank=True, default="")
    priority = models.SmallIntegerField(_("priority"), null=True, blank=True)
    max_attempts = models.PositiveIntegerField(_("max attempts"), null=True, blank=True)
    timeout = models.FloatField(_("timeout"), null=True, blank=True, help_text=_("Seconds."))
    unique_key = models.CharField(_("unique key"), max_length=250, blank=True, default="")
    expires_after = models.FloatField(
        _("expires after"),
        null=True,
        blank=True,
        help_text=_("Seconds; a run that has not started by then is cancelled."),
    )
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)

    expression = models.CharField(
        _("cron expression"),
        max_length=MAX_LENGTH,
        blank=True,
        default="",
        help_text=_("Minute, hour, day of month, month, weekday; or @hourly, @daily, @weekly, @monthly, @yearly."),
    )
    every = models.PositiveIntegerField(
        _("every"), null=True, blank=True, help_text=_("Seconds between runs, in place of a cron expression.")
    )
    timezone = models.CharField(_("time zone"), max_length=63, default=site_timezone)
    enabled = models.BooleanField(_("enabled"), default=True)
    starts_at = models.DateTimeField(
        _("starts at"), null=True, blank=True, help_text=_("No run before; an interval counts from here.")
    )
    ends_at = models.DateTimeField(_("ends at"), null=True, blank=True, help_text=_("No run after."))
    jitter = models.PositiveIntegerField(
        _("jitter"), default=0, help_text=_("Seconds over which schedules of the same slot spread out.")
    )
    catch_up = models.CharField(
        _("catch-up"),
        max_length=10,
        choices=CatchUp.choices,
        default=CatchUp.LATEST,
        help_text=_("What to do with runs missed while no worker was there."),
    )
    catch_up_limit = models.PositiveIntegerField(_("catch-up limit"), default=100)
    catch_up_window = models.PositiveIntegerField(
        _("catch-up window"), default=366 * 86_400, help_text=_("Seconds; what was missed longer ago never runs.")
    )
    overlap = models.CharField(
        _("overlap"),
        max_length=20,
        choices=Overlap.choices,
        default=Overlap.ALLOW,
        help_text=_("What to do when a run is due and the one before is not finished."),
    )

    next_run_at = models.DateTimeField(_("next run"), null=True, blank=True, editable=False)
    rescheduled_at = models.DateTimeField(_("planned after"), db_default=Now(), editable=False)
    disabled_at = models.DateTimeField(_("disabled since"), null=True, blank=True, editable=False)
    last_scheduled_for = models.DateTimeField(_("last slot"), null=True, blank=True, editable=False)
    last_run_at = models.DateTimeField(_("last run"), null=True, blank=True, editable=False)
    last_job_id = models.BigIntegerField(_("last job"), null=True, blank=True, editable=False)
    waiting_for = models.DateTimeField(_("slot that waits"), null=True, blank=True, editable=False)
    put_off_until = models.DateTimeField(_("put off until"), null=True, blank=True, editable=False)
    error = models.CharField(_("error"), max_length=500, blank=True, default="", db_default="", editable=False)

    objects = CronJobQuerySet.as_manager()

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("schedules")
        permissions = [
            ("toggle_cronjob", _("Can enable and disable schedules")),
            ("trigger_cronjob", _("Can run schedules now")),
        ]
        ordering = ("name",)
        constraints = [
            models.CheckConstraint(
                name="cronjob_one_rule",
                condition=Q(expression="", every__isnull=False) | (~Q(expression="") & Q(every__isnull=True)),
            ),
            # One that Python cannot read would be in every tick's way.
            models.CheckConstraint(
                name="cronjob_times_in_range",
                condition=reduce(and_, map(_in_range, ("starts_at", "ends_at", *TIMES_OF_TICK))),
            ),
        ]
        indexes = [
            models.Index("next_run_at", "id", name="cronjob_due", condition=Q(enabled=True)),
            models.Index("id", name="cronjob_waiting", condition=Q(waiting_for__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    def save(
        self,
        *,
        force_insert: Any = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """
        Insert, or update what is not the tick's own; see ``CronJobQuerySet.update`` for what an edit does.

        Raises ``InvalidSchedule`` and writes nothing for values that cannot be.
        """
        names = self._names_to_save() if update_fields is None else set(update_fields) - KEPT_BY_TICK
        self.check_values()
        alias = using or router.db_for_write(type(self), instance=self)
        if self._state.adding or self.pk is None:
            self.forget_history()
            super().save(force_insert=force_insert, force_update=force_update, using=alias)
            self._stored = (self.kind, self.enabled)
            announce([Wakeup(SOON)], using=alias)
            return
        with transaction.atomic(using=alias):
            self._save_plan(names, alias)
            super().save(force_update=force_update, using=alias, update_fields=names)
        if {"kind", "enabled"} <= names:
            self._stored = (self.kind, self.enabled)
        if update_fields is None:
            self.refresh_from_db(using=alias, fields=sorted(KEPT_BY_TICK))

    def clean(self) -> None:
        """Refuse, field by field, what ``save`` would refuse."""
        found = schedule_values.problems(self)
        if found:
            raise ValidationError({field: [message] for field, message in found.items()})

    def check_values(self) -> None:
        """Raise ``InvalidSchedule`` for the first value that cannot be; bring the rule into its normal form."""
        for message in schedule_values.problems(self).values():
            raise InvalidSchedule(f"Schedule {self.name!r}: {message}")
        for name in {"expression", "every", "timezone"} - self.get_deferred_fields():
            setattr(self, name, schedule_values.normal({name: getattr(self, name)})[name])

    def forget_history(self) -> None:
        """Take nothing along of what the tick keeps: a copy of a schedule begins anew."""
        for name in KEPT_BY_TICK:
            setattr(self, name, self._meta.get_field(name).get_default())  # type: ignore[union-attr]

    @classmethod
    def from_db(cls, *args: Any, **options: Any) -> Self:
        schedule = super().from_db(*args, **options)
        schedule._stored = (schedule.__dict__.get("kind"), schedule.__dict__.get("enabled"))
        return schedule

    @property
    def asks_for_handler(self) -> bool:
        """Whether a change makes it run a kind that it did not run before: one whose handler has gone may stay."""
        kind, enabled = self._stored
        return self.enabled and (self._state.adding or self.kind != kind or enabled is False)

    def _names_to_save(self) -> set[str]:
        fields = {field.name for field in self._meta.concrete_fields if not field.primary_key}
        return fields - KEPT_BY_TICK - self.get_deferred_fields()

    def _save_plan(self, names: Collection[str], using: str) -> None:
        rows = type(self).objects.using(using).filter(pk=self.pk)
        stored = rows.select_for_update().values(*PLANNING).first() or {}
        changed = {
            name: getattr(self, name) for name in stored if name in names and getattr(self, name) != stored[name]
        }
        rows.update(**(changed or {"put_off_until": None}))

    @property
    def is_over(self) -> bool:
        """Whether its rule names no further slot."""
        return self.next_run_at is not None and clock.aware(self.next_run_at) >= NEVER

    def trigger(self, *, actor: Actor | None = None, reason: str = "") -> Job:
        """Enqueue one extra run now, beside the slots; see ``operations.trigger_schedule``."""
        from .. import operations

        return operations.trigger_schedule(self, actor=actor, reason=reason)

    def upcoming(self, count: int = 5, *, after: datetime | None = None) -> list[datetime]:
        """Return the next ``count`` slots, jitter left out, as aware UTC times; ``after`` defaults to the database's now."""
        moment = after or clock.aware(clock.read(self._state.db or router.db_for_write(type(self))))
        return schedule_values.upcoming(self, count, after=moment)
