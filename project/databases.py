"""How a database URL becomes Django's settings, for the demo site and for the tests."""

from typing import Any

import environ

# "database is locked" comes at once, and not after `timeout` seconds, when a
# transaction that began as a reader starts to write: begin them as writers.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def database(*, default: str) -> dict[str, Any]:
    """Return the entry for ``DATABASES`` that ``DATABASE_URL`` asks for."""
    config = dict(environ.Env().db("DATABASE_URL", default=default))
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["OPTIONS"] = SQLITE_OPTIONS | config.get("OPTIONS", {})
    return config
