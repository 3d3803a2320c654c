"""The README's tables name all there is, and no more."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.management import _get_all_permissions
from django.core.management import BaseCommand
from django.dispatch import Signal

from jobs import JobContext, JobSpec, checks, conf, models, schedule, signals
from jobs.declarations import DECLARED
from jobs.exceptions import Verb
from jobs.management.commands.jobs import SUBCOMMANDS
from jobs.management.subcommands.base import Group
from jobs.options import Options
from jobs.runtime import exits
from tests import pages

MODELS = [getattr(models, name) for name in models.__all__]
FOR_ENGINES = {"stop", "when_stopped", "snapshot", "timeout_seconds"}
OF_DJANGO = set(BaseCommand().create_parser("", "")._option_string_actions)
TABLES = {
    "`@job` option": {"kind", *(field.name for field in fields(Options))},
    "schedule option": {*DECLARED, *inspect.signature(schedule).parameters} - {"expression", "options"},
    "raise": {verb.__name__ for verb in Verb.__subclasses__()},
    "`JobContext`": {*vars(JobContext), *inspect.signature(JobContext).parameters} - FOR_ENGINES,
    "enqueue option": {field.name for field in fields(JobSpec)} - {"kind", "payload"},
    "outcome": set(models.JobRun.Outcome.values),
    "`runworkers` option": set(pages.parser("runworkers")._option_string_actions) - OF_DJANGO,
    "exit code": {"129", "130", "143", *(str(code) for name, code in vars(exits).items() if name.startswith("EXIT_"))},
    "permission": {f"jobs.{codename}" for model in MODELS for codename, _ in _get_all_permissions(model._meta)},
    "subcommand": set(pages.parser("jobs")._subparsers._group_actions[0].choices),
    "key": {field.name.upper() for field in fields(conf.Settings)},
    "`RETENTION` key": set(conf.RETENTION),
    "id": set(re.findall(r'id="(jobs\.\w+)"', Path(checks.__file__).read_text())),
    "signal": {name for name, value in vars(signals).items() if isinstance(value, Signal)},
}


@pytest.mark.parametrize("heading", TABLES)
def test_table_is_whole(heading: str) -> None:
    assert pages.names(heading) == {name for name in TABLES[heading] if not name.startswith("_")}


def test_table_of_subcommands_has_those_of_cron() -> None:
    shown = re.findall(r"`cron (\w+)`", " ".join(row[0] for row in pages.table("subcommand")))

    (cron,) = [group for group in SUBCOMMANDS if isinstance(group, Group)]
    assert sorted(shown) == sorted(each.name for each in cron.subcommands)


def test_defaults_and_limits_are_those_of_the_settings() -> None:
    shown = {key.strip("`"): values[:3] for key, *values in pages.table("key")}

    for field in fields(conf.Settings):
        if field.name not in ("retention", "masked_keys"):
            limits = [field.metadata.get("least", ""), field.metadata.get("most", "")]
            assert shown[field.name.upper()] == [_written(value) for value in (field.default, *limits)]


def _written(value: object) -> str:
    return str(value) if isinstance(value, bool | str) else f"{value:,}".removesuffix(".0")


def test_masked_keys_are_those_of_the_settings() -> None:
    (shown,) = re.findall(r"^`MASKED_KEYS` is (.*?): see", pages.README.read_text(), re.M | re.S)

    assert re.findall(r"`(\w+)`", shown) == list(conf.MASKED_KEYS)


def test_retention_is_that_of_the_settings() -> None:
    shown = {key.strip("`"): timedelta(days=int(time.split()[0])) for key, time, _ in pages.table("`RETENTION` key")}

    assert shown == {key: timedelta(seconds=kept) for key, kept in conf.RETENTION.items() if kept is not None}
