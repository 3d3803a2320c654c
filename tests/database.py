"""
A pytest plugin that has a database up before Django's settings are read.

JOBS_TEST_DB says which: ``sqlite``; ``postgresql``, which fails where there is
none; ``pooler``, which is that through PgBouncer in transaction mode; or nothing
for PostgreSQL if there is any. DATABASE_URL wins over it.
"""

import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from project import postgres
from tests import pooler

# Nothing in a test database is worth waiting for the disk.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Start before pytest-django, which reads the settings in the same hook."""
    stack = ExitStack()
    early_config.add_cleanup(stack.close)
    url = stack.enter_context(_database())
    if os.environ.get("JOBS_TEST_DB") in {"postgresql", "pooler"} and not url.startswith("postgres"):
        raise pytest.UsageError(f"JOBS_TEST_DB asks for PostgreSQL and there is none: {url}")
    return (yield)


def pytest_report_header() -> str:
    return f"database: {os.environ['DATABASE_URL'].split('@')[-1]}"


@contextmanager
def _database() -> Iterator[str]:
    wanted = os.environ.get("JOBS_TEST_DB")
    if wanted == "pooler" and not os.environ.get("DATABASE_URL"):
        with _behind_a_pooler() as url:
            yield url
        return
    if wanted != "sqlite":
        with postgres.running("tests", fresh=True, options=FAST) as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="jobs-tests-") as folder, pytest.MonkeyPatch.context() as patch:
        url = f"sqlite:///{folder}/tests.sqlite3"
        patch.setenv("DATABASE_URL", url)
        yield url


@contextmanager
def _behind_a_pooler() -> Iterator[str]:
    server = postgres.running("tests", fresh=True, options=FAST)
    with server as direct, pooler.running(direct) as url, pytest.MonkeyPatch.context() as patch:
        # All processes of the suite, those of xdist among them, are led through the pooler.
        patch.setenv("DATABASE_URL", url)
        patch.setenv(pooler.DIRECT, direct)
        yield url
