"""
A pytest plugin that has a database up before Django's settings are read.

JOBS_TEST_DB says which: ``sqlite``; ``postgresql``, which fails where there is
none; or nothing for PostgreSQL if there is any. DATABASE_URL wins over it.
"""

import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from project import postgres

# Nothing in a test database is worth waiting for the disk.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Start before pytest-django, which reads the settings in the same hook."""
    stack = ExitStack()
    early_config.add_cleanup(stack.close)
    url = stack.enter_context(_database())
    if os.environ.get("JOBS_TEST_DB") == "postgresql" and not url.startswith("postgres"):
        raise pytest.UsageError(f"JOBS_TEST_DB asks for PostgreSQL and there is none: {url}")
    return (yield)


def pytest_report_header() -> str:
    return f"database: {os.environ['DATABASE_URL'].split('@')[-1]}"


@contextmanager
def _database() -> Iterator[str]:
    if os.environ.get("JOBS_TEST_DB") != "sqlite":
        with postgres.running("tests", fresh=True, options=FAST) as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="jobs-tests-") as folder, pytest.MonkeyPatch.context() as patch:
        url = f"sqlite:///{folder}/tests.sqlite3"
        patch.setenv("DATABASE_URL", url)
        yield url
