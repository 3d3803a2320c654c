"""dumpdata and loaddata take the app's rows from one site to another, as they are."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.serializers.json import DjangoJSONEncoder

from jobs import operations, stats
from jobs.models import CronJob, Job, Queue
from tests.jobs import noop
from tests.leasing import make_worker
from tests.test_admin import backing_off_job, dead_job, running_job
from tests.test_admin_permissions import everything

pytestmark = pytest.mark.django_db


def make_one_of_each() -> None:
    noop.using(unique_key="order:7", metadata={"a": 1}).enqueue(1, amount="1.10")
    dead_job().retry(reason="It is fixed.")
    backing_off_job(), running_job(), make_worker("w1")
    operations.pause("mail", reason="Upgrade")
    nightly = CronJob.objects.create(name="nightly", kind="noop", expression="30 2 * * *")
    nightly.trigger()
    operations.bulk.plan("cancel", stats.freeze({}, operations.bulk.BULK_ACTIONS["cancel"].states, using="default"), {})


def to_the_millisecond(rows: list[Any]) -> str:
    """Return rows as JSON, which has no microseconds in Django, and no milliseconds where there are none of either."""
    return json.dumps(rows, cls=DjangoJSONEncoder, indent=1).replace(".000Z", "Z")


def test_what_was_dumped_is_loaded_as_it_was(tmp_path: Path) -> None:
    make_one_of_each()
    before = everything()
    assert all(before)
    call_command("dumpdata", "jobs", output=str(tmp_path / "jobs.json"))
    for model in apps.get_app_config("jobs").get_models():
        model._base_manager.all()._raw_delete("default")  # type: ignore[attr-defined]

    call_command("loaddata", str(tmp_path / "jobs.json"), verbosity=0)

    assert to_the_millisecond(everything()) == to_the_millisecond(before)


def test_a_whole_site_is_dumped_with_natural_keys() -> None:
    make_one_of_each()
    out = io.StringIO()

    call_command("dumpdata", "--natural-foreign", "--natural-primary", stdout=out)

    for model in (Job, Queue, CronJob):
        assert f'"jobs.{model._meta.model_name}"' in out.getvalue()
