import datetime
from typing import Any

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import jobs.models.cron

from .. import sql


def tune(apps: Any, schema_editor: Any) -> None:
    """Set the storage parameters of the job table, where the database has any."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(sql.TUNE_POSTGRESQL)


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Queue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True, verbose_name="name")),
                ("paused_at", models.DateTimeField(blank=True, null=True, verbose_name="paused at")),
                ("paused_by", models.CharField(blank=True, default="", max_length=200, verbose_name="paused by")),
                ("pause_reason", models.CharField(blank=True, default="", max_length=500, verbose_name="reason")),
                ("resume_at", models.DateTimeField(blank=True, null=True, verbose_name="resumes at")),
            ],
            options={
                "verbose_name": "queue",
                "verbose_name_plural": "queues",
                "ordering": ("name",),
                "permissions": [("pause_queue", "Can pause and resume queues")],
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="name")),
                ("hostname", models.CharField(max_length=200, verbose_name="host")),
                ("pid", models.PositiveIntegerField(verbose_name="process")),
                ("version", models.CharField(max_length=50, verbose_name="version")),
                ("queues", models.JSONField(default=list, help_text="Empty: all.", verbose_name="queues")),
                ("kinds", models.JSONField(default=list, verbose_name="kinds")),
                ("concurrency", models.PositiveIntegerField(verbose_name="concurrency")),
                ("running", models.PositiveIntegerField(db_default=0, default=0, verbose_name="running")),
                (
                    "refused",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Results that came after the lease was lost.",
                        verbose_name="refused writes",
                    ),
                ),
                ("started_at", models.DateTimeField(verbose_name="started at")),
                ("heartbeat_at", models.DateTimeField(verbose_name="last heartbeat")),
                (
                    "clock_skew",
                    models.FloatField(
                        default=0.0,
                        help_text="Seconds its host's clock was ahead of the database's at the start.",
                        verbose_name="clock skew",
                    ),
                ),
                ("drain_requested_at", models.DateTimeField(blank=True, null=True, verbose_name="drain requested at")),
                ("draining_at", models.DateTimeField(blank=True, null=True, verbose_name="draining since")),
                ("stopped_at", models.DateTimeField(blank=True, null=True, verbose_name="stopped at")),
            ],
            options={
                "verbose_name": "worker",
                "verbose_name_plural": "workers",
                "ordering": ("-id",),
                "permissions": [("drain_worker", "Can drain workers")],
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="CronJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="name")),
                (
                    "origin",
                    models.CharField(
                        choices=[("person", "Made by a person"), ("code", "Declared in code")],
                        default="person",
                        editable=False,
                        max_length=10,
                        verbose_name="origin",
                    ),
                ),
                ("declared", models.JSONField(blank=True, default=dict, editable=False, verbose_name="as declared")),
                ("kind", models.CharField(max_length=200, verbose_name="kind")),
                ("args", models.JSONField(blank=True, default=list, verbose_name="args")),
                ("payload", models.JSONField(blank=True, default=dict, verbose_name="payload")),
                ("queue", models.CharField(blank=True, default="", max_length=100, verbose_name="queue")),
                ("priority", models.SmallIntegerField(blank=True, null=True, verbose_name="priority")),
                ("max_attempts", models.PositiveIntegerField(blank=True, null=True, verbose_name="max attempts")),
                ("timeout", models.FloatField(blank=True, help_text="Seconds.", null=True, verbose_name="timeout")),
                ("unique_key", models.CharField(blank=True, default="", max_length=250, verbose_name="unique key")),
                (
                    "expires_after",
                    models.FloatField(
                        blank=True,
                        help_text="Seconds; a run that has not started by then is cancelled.",
                        null=True,
                        verbose_name="expires after",
                    ),
                ),
                ("metadata", models.JSONField(blank=True, default=dict, verbose_name="metadata")),
                (
                    "expression",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Minute, hour, day of month, month, weekday; or @hourly, @daily, @weekly, @monthly, @yearly.",
                        max_length=255,
                        verbose_name="cron expression",
                    ),
                ),
                (
                    "every",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Seconds between runs, in place of a cron expression.",
                        null=True,
                        verbose_name="every",
                    ),
                ),
                (
                    "timezone",
                    models.CharField(default=jobs.models.cron.site_timezone, max_length=63, verbose_name="time zone"),
                ),
                ("enabled", models.BooleanField(default=True, verbose_name="enabled")),
                (
                    "starts_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="No run before; an interval counts from here.",
                        null=True,
                        verbose_name="starts at",
                    ),
                ),
                (
                    "ends_at",
                    models.DateTimeField(blank=True, help_text="No run after.", null=True, verbose_name="ends at"),
                ),
                (
                    "jitter",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Seconds over which schedules of the same slot spread out.",
                        verbose_name="jitter",
                    ),
                ),
                (
                    "catch_up",
                    models.CharField(
                        choices=[
                            ("latest", "Run the latest"),
                            ("all", "Run all, up to the limit"),
                            ("skip", "Run none"),
                        ],
                        default="latest",
                        help_text="What to do with runs missed while no worker was there.",
                        max_length=10,
                        verbose_name="catch-up",
                    ),
                ),
                ("catch_up_limit", models.PositiveIntegerField(default=100, verbose_name="catch-up limit")),
                (
                    "catch_up_window",
                    models.PositiveIntegerField(
                        default=31622400,
                        help_text="Seconds; what was missed longer ago never runs.",
                        verbose_name="catch-up window",
                    ),
                ),
                (
                    "overlap",
                    models.CharField(
                        choices=[
                            ("allow", "Run beside it"),
                            ("skip", "Skip the new one"),
                            ("queue_one", "Keep the newest one waiting"),
                            ("cancel_running", "Cancel the old one, then run"),
                        ],
                        default="allow",
                        help_text="What to do when a run is due and the one before is not finished.",
                        max_length=20,
                        verbose_name="overlap",
                    ),
                ),
                ("next_run_at", models.DateTimeField(blank=True, editable=False, null=True, verbose_name="next run")),
                (
                    "rescheduled_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        editable=False,
                        verbose_name="planned after",
                    ),
                ),
                (
                    "disabled_at",
                    models.DateTimeField(blank=True, editable=False, null=True, verbose_name="disabled since"),
                ),
                (
                    "last_scheduled_for",
                    models.DateTimeField(blank=True, editable=False, null=True, verbose_name="last slot"),
                ),
                ("last_run_at", models.DateTimeField(blank=True, editable=False, null=True, verbose_name="last run")),
                ("last_job_id", models.BigIntegerField(blank=True, editable=False, null=True, verbose_name="last job")),
                (
                    "waiting_for",
                    models.DateTimeField(blank=True, editable=False, null=True, verbose_name="slot that waits"),
                ),
                (
                    "put_off_until",
                    models.DateTimeField(blank=True, editable=False, null=True, verbose_name="put off until"),
                ),
                (
                    "error",
                    models.CharField(
                        blank=True, db_default="", default="", editable=False, max_length=500, verbose_name="error"
                    ),
                ),
            ],
            options={
                "verbose_name": "schedule",
                "verbose_name_plural": "schedules",
                "ordering": ("name",),
                "permissions": [
                    ("toggle_cronjob", "Can enable and disable schedules"),
                    ("trigger_cronjob", "Can run schedules now"),
                ],
                "indexes": [
                    models.Index(
                        models.F("next_run_at"),
                        models.F("id"),
                        condition=models.Q(("enabled", True)),
                        name="cronjob_due",
                    ),
                    models.Index(
                        models.F("id"), condition=models.Q(("waiting_for__isnull", False)), name="cronjob_waiting"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("every__isnull", False), ("expression", "")),
                            models.Q(models.Q(("expression", ""), _negated=True), ("every__isnull", True)),
                            _connector="OR",
                        ),
                        name="cronjob_one_rule",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("starts_at__isnull", True),
                                models.Q(
                                    ("starts_at__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("starts_at__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("ends_at__isnull", True),
                                models.Q(
                                    ("ends_at__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("ends_at__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("next_run_at__isnull", True),
                                models.Q(
                                    ("next_run_at__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("next_run_at__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("rescheduled_at__isnull", True),
                                models.Q(
                                    ("rescheduled_at__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("rescheduled_at__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("disabled_at__isnull", True),
                                models.Q(
                                    ("disabled_at__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("disabled_at__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("last_scheduled_for__isnull", True),
                                models.Q(
                                    (
                                        "last_scheduled_for__gte",
                                        datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC),
                                    ),
                                    (
                                        "last_scheduled_for__lt",
                                        datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC),
                                    ),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("last_run_at__isnull", True),
                                models.Q(
                                    ("last_run_at__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("last_run_at__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("waiting_for__isnull", True),
                                models.Q(
                                    ("waiting_for__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("waiting_for__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                            models.Q(
                                ("put_off_until__isnull", True),
                                models.Q(
                                    ("put_off_until__gte", datetime.datetime(1900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                    ("put_off_until__lt", datetime.datetime(9900, 1, 1, 0, 0, tzinfo=datetime.UTC)),
                                ),
                                _connector="OR",
                            ),
                        ),
                        name="cronjob_times_in_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=200, verbose_name="kind")),
                ("args", models.JSONField(blank=True, default=list, verbose_name="args")),
                ("payload", models.JSONField(blank=True, default=dict, verbose_name="payload")),
                ("queue", models.CharField(default="default", max_length=100, verbose_name="queue")),
                (
                    "priority",
                    models.SmallIntegerField(
                        default=0, help_text="-100 to 100; higher runs first.", verbose_name="priority"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("scheduled", "Scheduled"),
                            ("pending", "Pending"),
                            ("running", "Running"),
                            ("succeeded", "Succeeded"),
                            ("dead", "Dead"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="pending",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("run_at", models.DateTimeField(help_text="Not before this time.", verbose_name="run at")),
                ("expires_at", models.DateTimeField(blank=True, null=True, verbose_name="expires at")),
                ("enqueued_at", models.DateTimeField(verbose_name="enqueued at")),
                ("attempt", models.PositiveIntegerField(db_default=0, default=0, verbose_name="attempt")),
                ("max_attempts", models.PositiveIntegerField(verbose_name="max attempts")),
                ("backoff_base", models.FloatField(verbose_name="backoff base")),
                ("backoff_cap", models.FloatField(verbose_name="backoff cap")),
                ("backoff_jitter", models.FloatField(verbose_name="backoff jitter")),
                ("timeout", models.FloatField(blank=True, help_text="Seconds.", null=True, verbose_name="timeout")),
                ("unique_key", models.CharField(blank=True, max_length=250, null=True, verbose_name="unique key")),
                ("metadata", models.JSONField(blank=True, default=dict, verbose_name="metadata")),
                (
                    "scheduled_for",
                    models.DateTimeField(blank=True, help_text="Its slot.", null=True, verbose_name="scheduled for"),
                ),
                (
                    "origin",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("slot", "Slot of its schedule"),
                            ("manual", "Run by hand"),
                            ("backfill", "Backfilled"),
                        ],
                        db_default="",
                        default="",
                        max_length=10,
                        verbose_name="origin",
                    ),
                ),
                ("claim_no", models.PositiveIntegerField(db_default=0, default=0, verbose_name="claim number")),
                (
                    "lease_owner",
                    models.CharField(blank=True, db_default="", default="", max_length=200, verbose_name="lease owner"),
                ),
                ("lease_expires_at", models.DateTimeField(blank=True, null=True, verbose_name="lease expires at")),
                ("started_at", models.DateTimeField(blank=True, null=True, verbose_name="started at")),
                ("finished_at", models.DateTimeField(blank=True, null=True, verbose_name="finished at")),
                (
                    "cancel_requested_at",
                    models.DateTimeField(blank=True, null=True, verbose_name="cancel requested at"),
                ),
                (
                    "losses",
                    models.PositiveSmallIntegerField(
                        db_default=0, default=0, help_text="Workers that died while running it.", verbose_name="losses"
                    ),
                ),
                (
                    "stranded",
                    models.PositiveSmallIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Leases that expired before it was seen to start.",
                        verbose_name="stranded",
                    ),
                ),
                ("unknown_since", models.DateTimeField(blank=True, null=True, verbose_name="no handler since")),
                ("result", models.JSONField(blank=True, null=True, verbose_name="result")),
                (
                    "error",
                    models.CharField(blank=True, db_default="", default="", max_length=500, verbose_name="error"),
                ),
                ("progress", models.JSONField(blank=True, null=True, verbose_name="progress")),
                ("log", models.TextField(blank=True, db_default="", default="", verbose_name="log")),
                (
                    "copied_from",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="copies",
                        to="jobs.job",
                        verbose_name="copied from",
                    ),
                ),
                (
                    "cron",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="jobs",
                        to="jobs.cronjob",
                        verbose_name="schedule",
                    ),
                ),
            ],
            options={
                "verbose_name": "job",
                "verbose_name_plural": "jobs",
                "permissions": [
                    ("enqueue_job", "Can enqueue and copy jobs"),
                    ("retry_job", "Can retry dead and cancelled jobs"),
                    ("reschedule_job", "Can run jobs now, postpone them, and change their queue and priority"),
                    ("cancel_job", "Can cancel jobs"),
                    ("rescue_job", "Can take jobs from workers whose lease has expired"),
                    ("discard_job", "Can discard dead jobs"),
                    ("export_job", "Can export jobs"),
                    ("view_job_payload", "Can see what is masked in jobs"),
                ],
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="BulkOperation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("retry", "Retry"),
                            ("trigger", "Run now"),
                            ("postpone", "Postpone"),
                            ("reroute", "Change queue or priority"),
                            ("cancel", "Cancel"),
                            ("rescue", "Take back the lease"),
                            ("discard", "Discard"),
                        ],
                        max_length=20,
                        verbose_name="action",
                    ),
                ),
                ("parameters", models.JSONField(blank=True, default=dict, verbose_name="parameters")),
                ("filter", models.JSONField(blank=True, default=dict, verbose_name="filter")),
                ("states", models.JSONField(blank=True, default=list, verbose_name="states")),
                ("max_id", models.BigIntegerField(verbose_name="largest id")),
                ("frozen_at", models.DateTimeField(verbose_name="as of")),
                ("actor_id", models.CharField(blank=True, default="", max_length=100, verbose_name="actor id")),
                ("actor_label", models.CharField(blank=True, default="", max_length=200, verbose_name="actor")),
                ("reason", models.CharField(blank=True, default="", max_length=500, verbose_name="reason")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("stopped", "Stopped"),
                            ("finished", "Finished"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=10,
                        verbose_name="status",
                    ),
                ),
                ("error", models.CharField(blank=True, default="", max_length=500, verbose_name="error")),
                (
                    "matched",
                    models.BigIntegerField(
                        blank=True, help_text="None: too many to count.", null=True, verbose_name="matched"
                    ),
                ),
                ("done", models.BigIntegerField(default=0, verbose_name="done")),
                ("asked", models.BigIntegerField(default=0, verbose_name="asked to stop")),
                ("skipped", models.BigIntegerField(default=0, verbose_name="skipped")),
                ("blocked", models.BigIntegerField(default=0, verbose_name="unique key taken")),
                ("forbidden", models.BigIntegerField(default=0, verbose_name="not permitted")),
                ("last_id", models.BigIntegerField(blank=True, null=True, verbose_name="last id")),
                ("created_at", models.DateTimeField(verbose_name="created at")),
                ("started_at", models.DateTimeField(blank=True, null=True, verbose_name="started at")),
                ("finished_at", models.DateTimeField(blank=True, null=True, verbose_name="finished at")),
                ("stop_requested_at", models.DateTimeField(blank=True, null=True, verbose_name="stop requested at")),
                ("stopped_by", models.CharField(blank=True, default="", max_length=200, verbose_name="stopped by")),
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="jobs.job",
                        verbose_name="job",
                    ),
                ),
            ],
            options={
                "verbose_name": "bulk operation",
                "verbose_name_plural": "bulk operations",
                "ordering": ("-id",),
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="DeadLetter",
            fields=[],
            options={
                "verbose_name": "dead job",
                "verbose_name_plural": "dead jobs by error",
                "proxy": True,
                "default_permissions": ("view",),
                "indexes": [],
                "constraints": [],
            },
            bases=("jobs.job",),
        ),
        migrations.CreateModel(
            name="JobEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(verbose_name="at")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("enqueued", "Enqueued by hand"),
                            ("copied", "Copied"),
                            ("retried", "Retried"),
                            ("cancelled", "Cancelled"),
                            ("cancel_requested", "Asked to stop"),
                            ("rescued", "Lease taken back"),
                            ("triggered", "Run now"),
                            ("postponed", "Postponed"),
                            ("rerouted", "Queue or priority changed"),
                            ("discarded", "Discarded"),
                            ("quarantined", "Quarantined"),
                            ("paused", "Paused"),
                            ("resumed", "Resumed"),
                            ("drained", "Asked to drain"),
                            ("enabled", "Enabled"),
                            ("disabled", "Disabled"),
                            ("skipped", "Skipped"),
                            ("backfilled", "Backfilled"),
                            ("bulk", "Bulk operation ended"),
                            ("payload_viewed", "Saw what is masked"),
                        ],
                        max_length=20,
                        verbose_name="kind",
                    ),
                ),
                ("queue", models.CharField(blank=True, default="", max_length=100, verbose_name="queue")),
                ("worker", models.CharField(blank=True, default="", max_length=200, verbose_name="worker")),
                ("slots", models.JSONField(blank=True, default=dict, verbose_name="slots")),
                ("actor_id", models.CharField(blank=True, default="", max_length=100, verbose_name="actor id")),
                ("actor_label", models.CharField(blank=True, default="", max_length=200, verbose_name="actor")),
                ("reason", models.CharField(blank=True, default="", max_length=500, verbose_name="reason")),
                (
                    "changes",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="What was changed, from what and to what.",
                        verbose_name="changes",
                    ),
                ),
                (
                    "cron",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        to="jobs.cronjob",
                        verbose_name="schedule",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        to="jobs.job",
                        verbose_name="job",
                    ),
                ),
            ],
            options={
                "verbose_name": "event",
                "verbose_name_plural": "events",
                "ordering": ("-id",),
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="JobRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.PositiveIntegerField(verbose_name="attempt")),
                ("claim_no", models.PositiveIntegerField(verbose_name="claim number")),
                ("worker", models.CharField(max_length=200, verbose_name="worker")),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("snoozed", "Snoozed"),
                            ("released", "Released"),
                            ("lost", "Lost"),
                            ("timed_out", "Timed out"),
                            ("cancelled", "Cancelled"),
                            ("discarded", "Discarded"),
                        ],
                        max_length=10,
                        verbose_name="outcome",
                    ),
                ),
                ("due_at", models.DateTimeField(verbose_name="due at")),
                ("started_at", models.DateTimeField(null=True, verbose_name="started at")),
                ("finished_at", models.DateTimeField(verbose_name="finished at")),
                ("exception_class", models.CharField(blank=True, default="", max_length=200, verbose_name="exception")),
                ("message", models.TextField(blank=True, default="", verbose_name="message")),
                ("traceback", models.TextField(blank=True, default="", verbose_name="traceback")),
                ("log", models.TextField(blank=True, default="", verbose_name="log")),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="runs",
                        to="jobs.job",
                        verbose_name="job",
                    ),
                ),
            ],
            options={
                "verbose_name": "run",
                "verbose_name_plural": "runs",
                "ordering": ("-id",),
                "default_permissions": ("view",),
            },
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.OrderBy(models.F("priority"), descending=True),
                models.F("run_at"),
                models.F("id"),
                condition=models.Q(("losses", 0), ("state", "pending")),
                name="job_claim",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("queue"),
                models.OrderBy(models.F("priority"), descending=True),
                models.F("run_at"),
                models.F("id"),
                condition=models.Q(("losses", 0), ("state", "pending")),
                name="job_claim_queue",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.OrderBy(models.F("priority"), descending=True),
                models.F("run_at"),
                models.F("id"),
                condition=models.Q(("losses__gt", 0), ("state", "pending")),
                name="job_suspect",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("run_at"), models.F("id"), condition=models.Q(("state", "scheduled")), name="job_promote"
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("run_at"),
                models.F("id"),
                condition=models.Q(("attempt__gt", 0), ("state", "scheduled")),
                name="job_backing_off",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("lease_owner"), models.F("id"), condition=models.Q(("state", "running")), name="job_running"
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("cron"), models.F("id"), condition=models.Q(("cron__isnull", False)), name="job_cron"
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("cron"),
                condition=models.Q(("cron__isnull", False), ("state__in", ("scheduled", "pending", "running"))),
                name="job_cron_live",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("state"),
                models.F("finished_at"),
                models.F("id"),
                condition=models.Q(("finished_at__isnull", False)),
                name="job_final",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                models.F("expires_at"),
                condition=models.Q(("expires_at__isnull", False), ("state__in", ["scheduled", "pending"])),
                name="job_expire",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lease_expires_at__isnull", False), ("state", "running")),
                    models.Q(models.Q(("state", "running"), _negated=True), ("lease_expires_at__isnull", True)),
                    _connector="OR",
                ),
                name="job_leased_iff_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("finished_at__isnull", False), ("state__in", ("succeeded", "dead", "cancelled"))),
                    models.Q(
                        models.Q(("state__in", ("succeeded", "dead", "cancelled")), _negated=True),
                        ("finished_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="job_finished_iff_final",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(condition=models.Q(("max_attempts__gte", 1)), name="job_has_an_attempt"),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("scheduled", "pending", "running")), ("unique_key__isnull", False)),
                fields=("unique_key",),
                name="job_unique_key",
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.UniqueConstraint(
                condition=models.Q(("scheduled_for__isnull", False)),
                fields=("cron", "scheduled_for"),
                name="job_unique_slot",
            ),
        ),
        migrations.AddConstraint(
            model_name="jobrun",
            constraint=models.UniqueConstraint(fields=("job", "claim_no"), name="job_run_once_a_claim"),
        ),
        migrations.RunPython(tune, migrations.RunPython.noop),
    ]
