"""Fixtures for all tests."""

import pytest
from django.db import connection
from hypothesis import HealthCheck, settings

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
