"""The app works behind a router that puts it on another database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

pytestmark = pytest.mark.long


def run(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.elsewhere", str(folder), url]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_on_a_database_that_has_jobs_alone(tmp_path: Path) -> None:
    ended = run(tmp_path, f"sqlite:///{tmp_path}/jobs.sqlite3")

    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout.split()[0]) > 100


@pytest.mark.skipif(connection.vendor != "postgresql", reason="The other one is SQLite's.")
def test_on_postgresql_beside_a_default_that_is_not(tmp_path: Path, database_url: str) -> None:
    ended = run(tmp_path, database_url)

    assert ended.returncode == 0, ended.stderr
