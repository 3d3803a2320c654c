"""System checks: what each finds, what it says, and that a good site has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.db import connection, connections

import jobs
from jobs import job, registry
from jobs.checks import check_postgresql_version
from jobs.models import JobRun

GOOD_SQLITE = {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"}

AddDatabase = Callable[..., None]


class Router:
    """Sends these models of ours to another database, or all of them."""

    def __init__(self, alias: str, *models: Any) -> None:
        self.alias = alias
        self.models = models

    def db_for_write(self, model: Any, **_: Any) -> str | None:
        is_ours = model._meta.app_label == "jobs"
        return self.alias if is_ours and (not self.models or model in self.models) else None


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers that other test modules registered have nothing to do with these."""
    monkeypatch.setattr(registry, "_by_kind", {})


@pytest.fixture
def add_database(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[AddDatabase]:
    """Add the alias ``other`` with these settings, and send the jobs there."""

    def add_database(**config: Any) -> None:
        everything = {"default": {}, "other": config}
        monkeypatch.setitem(connections.settings, "other", connections.configure_settings(everything)["other"])
        settings.DATABASE_ROUTERS = [Router("other")]

    yield add_database
    del connections["other"]


def found(wanted: str = "") -> list[checks.CheckMessage]:
    """Run our checks and return the findings, or those with this id."""
    return [finding for finding in checks.run_checks(tags=["jobs"]) if wanted in finding.id]


def test_a_good_site_has_no_finding() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"LEASE_SECOND": 10}, "did you mean 'LEASE_SECONDS'?"),
        ({"POLL_SECONDS": "often"}, "JOBS['POLL_SECONDS'] is 'often'"),
        ({"RETENTION": {"lost": 1}}, "JOBS['RETENTION']['lost'] is not a known key"),
        ([], "JOBS is list"),
    ],
    ids=["unknown key", "impossible value", "unknown retention", "not a dictionary"],
)
def test_each_problem_of_the_setting_is_an_error(settings: Any, value: Any, said: str) -> None:
    settings.JOBS = value

    (finding,) = found("E001")

    assert said in finding.msg
    assert finding.is_serious()


def test_all_problems_of_the_setting_are_found_at_once(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECONDS": 0, "MAX_ATTEMPTS": 0}

    assert len(found()) == 2


def test_a_heartbeat_longer_than_a_third_of_the_lease_is_an_error_that_says_both(settings: Any) -> None:
    settings.JOBS = {"LEASE_SECONDS": 12, "HEARTBEAT_SECONDS": 5}

    (finding,) = found()

    assert finding.id == "jobs.E001"
    assert "JOBS['HEARTBEAT_SECONDS'] is 5 and JOBS['LEASE_SECONDS'] is 12" in finding.msg


def test_models_in_two_databases_are_an_error(settings: Any) -> None:
    settings.DATABASE_ROUTERS = [Router("other", JobRun)]

    (finding,) = found()

    assert finding.id == "jobs.E002"
    assert "write JobRun to 'other' and Job to 'default'" in finding.msg


def test_a_router_to_a_database_that_is_not_configured_is_an_error(settings: Any) -> None:
    settings.DATABASE_ROUTERS = [Router("nowhere")]

    (finding,) = found()

    assert finding.id == "jobs.E003"
    assert "'nowhere'" in finding.msg


def test_jobs_outside_the_default_database_are_mentioned(add_database: AddDatabase) -> None:
    add_database(ENGINE="django.db.backends.postgresql")

    (finding,) = found()

    assert (finding.id, finding.is_serious()) == ("jobs.I004", False)
    assert "an enqueue is not part of a transaction on 'default'" in finding.msg


def test_an_atomic_handler_outside_the_default_database_is_an_error(add_database: AddDatabase) -> None:
    job("pay", atomic=True, aliases=["charge"])(lambda: None)
    job("plain")(lambda: None)
    assert found("E005") == []

    add_database(ENGINE="django.db.backends.postgresql")

    (finding,) = found("E005")
    assert "The handler of 'pay' has atomic=True" in finding.msg


def test_a_database_that_is_not_supported_is_an_error(add_database: AddDatabase) -> None:
    add_database(ENGINE="django.db.backends.dummy")

    (finding,) = found("E006")

    assert "The jobs are in 'other', and its backend, unknown, is not supported." in finding.msg


@pytest.mark.parametrize("mode", [None, "DEFERRED", "EXCLUSIVE"])
def test_sqlite_that_is_not_immediate_is_an_error(add_database: AddDatabase, mode: str | None) -> None:
    options = GOOD_SQLITE | {"transaction_mode": mode}
    add_database(ENGINE="django.db.backends.sqlite3", NAME="file.db", OPTIONS=options)

    (finding,) = found("E007")

    assert f"has transaction_mode {mode!r}" in finding.msg
    assert finding.hint == "Set DATABASES['other']['OPTIONS']['transaction_mode'] to 'IMMEDIATE'."


def test_sqlite_without_time_zones_is_an_error(add_database: AddDatabase, settings: Any) -> None:
    settings.USE_TZ = False
    add_database(ENGINE="django.db.backends.sqlite3", NAME="file.db", OPTIONS=GOOD_SQLITE)

    (finding,) = found("E008")

    assert "USE_TZ is False" in finding.msg


@pytest.mark.parametrize("name", [":memory:", "file:shared?mode=memory&cache=shared"])
def test_sqlite_in_memory_is_a_warning(add_database: AddDatabase, name: str) -> None:
    add_database(ENGINE="django.db.backends.sqlite3", NAME=name, OPTIONS=GOOD_SQLITE)

    (finding,) = found("W009")

    assert finding.hint == "Set DATABASES['other']['NAME'] to a file."


@pytest.mark.parametrize("init", ["", "PRAGMA synchronous=NORMAL;"])
def test_sqlite_without_wal_is_a_warning(add_database: AddDatabase, init: str) -> None:
    options = GOOD_SQLITE | {"init_command": init}
    add_database(ENGINE="django.db.backends.sqlite3", NAME=Path("file.db"), OPTIONS=options)

    (finding,) = found("W010")

    assert "WAL" in finding.msg


@pytest.mark.parametrize(
    "config",
    [
        {"NAME": Path("file.db"), "OPTIONS": GOOD_SQLITE},
        {"NAME": "file.db", "OPTIONS": {"transaction_mode": "immediate", "init_command": "pragma Journal_Mode = wal"}},
        {"NAME": "file:memorydb_other?mode=memory&cache=shared", "OPTIONS": GOOD_SQLITE},
    ],
    ids=["as advised", "spelled otherwise", "made by the test runner"],
)
def test_sqlite_that_is_set_up_well_has_no_finding(add_database: AddDatabase, config: dict[str, Any]) -> None:
    add_database(ENGINE="django.db.backends.sqlite3", **config)

    assert [finding.id for finding in found()] == ["jobs.I004"]


def test_no_check_connects_without_being_told_that_it_may() -> None:
    # This test has no access to a database.
    assert found() == []


@pytest.mark.parametrize("databases", [None, [], ["elsewhere"]])
def test_the_version_is_not_asked_for_where_that_was_not_allowed(databases: list[str] | None) -> None:
    assert check_postgresql_version(databases=databases) == []


@pytest.mark.django_db
def test_the_database_of_these_tests_is_new_enough() -> None:
    assert checks.run_checks(databases=["default"]) == []


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="It is about PostgreSQL.")
def test_an_old_postgresql_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.checks.LOWEST_POSTGRESQL", 99)

    (finding,) = check_postgresql_version(databases=["default"])

    assert finding.id == "jobs.E011"
    assert "99 is the oldest supported" in finding.msg


def test_a_site_module_of_the_same_name_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shadow = tmp_path / "jobs.py"
    shadow.touch()
    monkeypatch.syspath_prepend(tmp_path)

    (finding,) = found()

    assert finding.id == "jobs.W012"
    assert finding.msg.startswith(f"{shadow} is called 'jobs' too")


def test_a_folder_of_the_same_name_that_is_no_package_is_none_of_our_business(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jobs").mkdir()
    monkeypatch.syspath_prepend(tmp_path)

    assert found() == []


def test_another_way_to_this_very_package_is_no_shadow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jobs").symlink_to(Path(jobs.__file__).parent)
    monkeypatch.syspath_prepend(tmp_path)

    assert found() == []


def test_every_finding_says_what_to_do(add_database: AddDatabase, settings: Any) -> None:
    settings.USE_TZ = False
    settings.JOBS = {"LEASE_SECONDS": 1}
    add_database(ENGINE="django.db.backends.sqlite3", NAME=":memory:", OPTIONS={})

    findings = found()

    assert {finding.id for finding in findings} >= {"jobs.E001", "jobs.I004", "jobs.E007", "jobs.E008", "jobs.W009"}
    assert all(finding.hint for finding in findings)
