"""Rows of every kind, with markup wherever somebody may write text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db.models import CharField, JSONField, Model, TextField

from jobs import clock, leases, operations, stats
from jobs.leases import Beat
from jobs.models import BulkOperation, CronJob
from jobs.operations import Actor, bulk
from tests.jobs import noop
from tests.leasing import claim, make_worker, settle
from tests.scheduling import missed, planned, tick
from tests.test_admin import backing_off_job, dead_job

# Out of an attribute, a text and a script; and what a template on the client's side would work out.
MARKUP = """'"><img src=x onerror=window.xss=1></script><script>window.xss=1</script>{{7*7}}"""
# What has a form of its own, in which nobody can write.
FORMED = {
    "state",
    "origin",
    "expression",
    "timezone",
    "actor_id",
    "progress",
    "slots",
    "changes",
    "states",
    "parameters",
    "filter",
}


def make_everything() -> None:
    """Make a row of each of our models, and a job in each state, with decisions and runs."""
    make_worker(queues=["busy"], kinds=["noop"])
    _make_jobs()
    _make_schedules()
    _make_bulk_operations()
    operations.pause("mail", actor=Actor(label="alice"), reason="moved")
    for model in apps.get_app_config("jobs").get_models():
        for row in model._default_manager.order_by("pk"):
            model._default_manager.filter(pk=row.pk).update(**dict(_marked(row)))


def _make_jobs() -> None:
    dead_job(unique_key="dead", metadata={"user": "alice"}).postpone(run_at=clock.read("default"))
    backing_off_job()
    noop.using(delay=600).enqueue().trigger(actor=Actor(label="alice"), reason="fixed")
    noop.using(queue="done").enqueue()
    settle(claim(queues=["done"])[0].lease, log="a line")
    noop.using(delay=600).enqueue().reroute(queue="mail", actor=Actor(label="alice"), reason="moved")
    noop.enqueue().cancel(actor=Actor(label="alice"), reason="not needed")
    noop.using(queue="busy").enqueue({"a": [1]}, b={"password": "b"})
    (claimed,) = claim(queues=["busy"])
    progress = {"done": 1, "total": 2, "message": MARKUP}
    leases.renew([Beat(lease=claimed.lease, running=2.0, progress=progress)], lease_seconds=300, using="default")


def _make_schedules() -> None:
    missed(3, catch_up="skip")
    tick()
    planned(expression="30 2 * * *", timezone="Europe/Berlin").trigger(actor=Actor(label="alice"), reason="now")
    operations.disable(CronJob.objects.filter(pk=planned().pk), actor=Actor(label="alice"))


def _make_bulk_operations() -> None:
    """Make one that is under way, and one that is done; what was searched for is what somebody typed."""
    for is_over in (False, True):
        selection = stats.freeze({"q": MARKUP}, bulk.BULK_ACTIONS["retry"].states, using="default")
        row = bulk.plan("retry", selection, {}, matched=3, actor=Actor(label="alice"), reason="back")
        if is_over:
            BulkOperation.objects.filter(pk=row.pk).update(status="failed")
        else:
            bulk.hand_over(row)


def _marked(row: Model) -> Iterator[tuple[str, Any]]:
    """Yield what the columns of ``row`` are to hold instead."""
    for field in row._meta.concrete_fields:
        if field.name in FORMED or field.choices or (field.max_length or 100) < 100:
            continue
        if isinstance(field, CharField | TextField):
            # Where it must differ from row to row.
            yield field.name, f"{MARKUP}{row.pk if field.unique or field.name == 'unique_key' else ''}"
        elif isinstance(field, JSONField):
            is_list = isinstance(field.get_default(), list)
            yield field.name, [MARKUP] if is_list else {MARKUP: MARKUP}
