"""Fixtures for all tests."""

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings

from tests.plans import renew_tables, seed

# How long an example takes says nothing on a busy machine.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture
def database_url(transactional_db: None) -> str:
    """
    The URL of the test database, for the environment of a worker process.

    Such a process sees only what is committed, hence the transactional database.
    """
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    user, password, host, port = (connection.settings_dict[key] for key in ("USER", "PASSWORD", "HOST", "PORT"))
    return f"postgres://{user}:{password}@{host}:{port}/{name}"


@pytest.fixture
def new_tables(db: None) -> None:
    """Tables without a past, so that what a statement reads is its own doing (PostgreSQL)."""
    if connection.vendor != "postgresql":
        pytest.skip("the plans are PostgreSQL's")
    renew_tables()


@pytest.fixture
def crowd(new_tables: None) -> None:
    """A crowded table: a big queue of better priority, a small one, much in the future, and much that is finished."""
    seed(10_000, queue="bulk", priority=50)
    seed(20, queue="small")
    seed(10_000, state="scheduled", priority=100, run_in=86_400)
    seed(10_000, state="succeeded")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
