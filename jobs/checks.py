"""
System checks: what can be known to be wrong before the first job runs.

Ids are ``jobs.E…`` (it will not work), ``jobs.W…`` (it may surprise you) and
``jobs.I…`` (good to know); silence one with SILENCED_SYSTEM_CHECKS.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register  # noqa: A004 (Django's name for it)
from django.db import DEFAULT_DB_ALIAS, connections, router

from . import conf, registry
from .models import Job, JobEvent, JobRun, Queue, Worker

LOWEST_POSTGRESQL = 15
SUPPORTED = ("postgresql", "sqlite")

Found = Iterator[CheckMessage]


@register("jobs")
def check_settings(**_: Any) -> list[CheckMessage]:
    """Look for unknown keys in JOBS, impossible values, and a heartbeat too slow for its lease."""
    hint = "The keys, their defaults and their limits are in the README under Settings."
    return [
        Error(problem, hint=hint, id="jobs.E001") for problem in conf.problems(getattr(django_settings, "JOBS", {}))
    ]


@register("jobs")
def check_routers(**_: Any) -> list[CheckMessage]:
    """Look at which database each of our models is written to."""
    return list(_of_routers({model: router.db_for_write(model) for model in (Job, JobRun, Queue, Worker, JobEvent)}))


def _of_routers(homes: dict[Any, str]) -> Found:
    home = homes[Job]
    for model, alias in homes.items():
        if alias != home:
            yield Error(
                f"The database routers write {model.__name__} to {alias!r} and Job to {home!r}, but one transaction writes both.",
                hint=f"Let DATABASE_ROUTERS send every model of the app 'jobs' to {home!r}.",
                id="jobs.E002",
            )
    if home not in connections:
        yield Error(
            f"The database routers write Job to {home!r}, which is not in DATABASES.",
            hint=f"Use one of {', '.join(connections)}.",
            id="jobs.E003",
        )
    elif home != DEFAULT_DB_ALIAS:
        yield Info(
            f"The database routers write Job to {home!r}: an enqueue is not part of a transaction on {DEFAULT_DB_ALIAS!r}, "
            "so it stays when that one is rolled back, and may run before that one commits.",
            hint="Enqueue from transaction.on_commit(), or keep the jobs in the database of the data they work on.",
            id="jobs.I004",
        )


@register("jobs")
def check_atomic_handlers(**_: Any) -> list[CheckMessage]:
    """Look for handlers that are to commit together with their job, but write to another database."""
    home = router.db_for_write(Job)
    if home == DEFAULT_DB_ALIAS:
        return []
    return [
        Error(
            f"The handler of {kind!r} has atomic=True, but its job is settled in {home!r} and what it writes to "
            f"{DEFAULT_DB_ALIAS!r} is not part of that transaction.",
            hint="Drop atomic=True and make the handler idempotent, or keep the jobs in the default database.",
            id="jobs.E005",
        )
        for kind in registry.kinds()
        if (definition := registry.find(kind)) and definition.options.atomic and definition.kind == kind
    ]


@register("jobs")
def check_database(**_: Any) -> list[CheckMessage]:
    """Look at the settings of the database that holds the jobs, without connecting to it."""
    home = router.db_for_write(Job)
    return list(_of_database(connections[home])) if home in connections else []


def _of_database(connection: Any) -> Found:
    if connection.vendor == "sqlite":
        yield from _of_sqlite(connection.alias, connection.settings_dict)
    elif connection.vendor not in SUPPORTED:
        yield Error(
            f"The jobs are in {connection.alias!r}, and its backend, {connection.display_name}, is not supported.",
            hint="Use PostgreSQL, or SQLite on a small host; a database router can give the jobs one of their own.",
            id="jobs.E006",
        )


def _of_sqlite(alias: str, config: dict[str, Any]) -> Found:
    options = config.get("OPTIONS", {})
    mode = options.get("transaction_mode")
    if str(mode).upper() != "IMMEDIATE":
        yield Error(
            f"The SQLite database {alias!r} has transaction_mode {mode!r}: a transaction that reads first and writes later "
            "fails at once with 'database is locked', whatever its timeout, as soon as two processes work.",
            hint=f"Set DATABASES[{alias!r}]['OPTIONS']['transaction_mode'] to 'IMMEDIATE'.",
            id="jobs.E007",
        )
    if not django_settings.USE_TZ:
        yield Error(
            f"USE_TZ is False and the jobs are in the SQLite database {alias!r}: its own clock is UTC, "
            "and would be compared with times of another zone.",
            hint="Set USE_TZ to True, or use PostgreSQL.",
            id="jobs.E008",
        )
    if _is_in_memory(str(config["NAME"])):
        yield Warning(
            f"The SQLite database {alias!r} is in memory: no other process and no thread of a worker can see its jobs.",
            hint=f"Set DATABASES[{alias!r}]['NAME'] to a file.",
            id="jobs.W009",
        )
    elif "journal_mode=wal" not in options.get("init_command", "").lower().replace(" ", ""):
        yield Warning(
            f"The SQLite database {alias!r} is not opened in WAL mode: readers and writers wait for each other.",
            hint=f"Set DATABASES[{alias!r}]['OPTIONS']['init_command'] to 'PRAGMA journal_mode=WAL;'.",
            id="jobs.W010",
        )


def _is_in_memory(name: str) -> bool:
    # The last is what Django's test runner makes, and nobody runs workers beside.
    return name == ":memory:" or ("mode=memory" in name and not name.startswith("file:memorydb_"))


@register(Tags.database)
def check_postgresql_version(databases: Collection[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Ask PostgreSQL for its version: one query, so only where Django was told that it may connect."""
    home = router.db_for_write(Job)
    if home not in (databases or ()) or connections[home].vendor != "postgresql":
        return []
    connection: Any = connections[home]
    version = connection.pg_version
    if version >= LOWEST_POSTGRESQL * 10_000:
        return []
    return [
        Error(
            f"The jobs are in {home!r}, which is PostgreSQL {version // 10_000}: {LOWEST_POSTGRESQL} is the oldest supported.",
            hint=f"Upgrade the server to PostgreSQL {LOWEST_POSTGRESQL} or later.",
            id="jobs.E011",
        )
    ]


@register("jobs")
def check_shadows(**_: Any) -> list[CheckMessage]:
    """Look for another module called jobs, which some process of the site would import instead of this app."""
    return [
        Warning(
            f"{shadow} is called {__package__!r} too: which of the two `import {__package__}` finds depends on the order of "
            "sys.path, which may differ between manage.py, the web server and the workers.",
            hint=f"Rename it, or move it into a package; in INSTALLED_APPS, '{__package__}.apps.JobsConfig' fails loudly "
            "where the wrong one is found.",
            id="jobs.W012",
        )
        for shadow in _namesakes(str(__package__), sys.path)
    ]


def _namesakes(name: str, search_path: list[str]) -> list[Path]:
    """Return the files that ``import name`` could find, other than this package's own."""
    specs = [PathFinder.find_spec(name, [folder]) for folder in search_path]
    files = {Path(spec.origin).resolve(): None for spec in specs if spec is not None and spec.origin is not None}
    return [file for file in files if file.parent != Path(__file__).resolve().parent]
