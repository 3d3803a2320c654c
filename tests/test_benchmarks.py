"""The benchmarks run; what they measure on a busy machine is nobody's business here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.pooler import needs_a_session

pytestmark = pytest.mark.skipif(
    not os.environ["DATABASE_URL"].startswith("postgres"), reason="the benchmarks are of PostgreSQL"
)


def bench(*arguments: str, url: str = os.environ["DATABASE_URL"]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, env=os.environ | {"DATABASE_URL": url}, capture_output=True, text=True, timeout=120)


def left_behind() -> list[str]:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        found = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'jobs_bench_%' ORDER BY datname")
        return [name for (name,) in found]


@pytest.mark.long
@needs_a_session
def test_a_quick_run_prints_and_writes_figures_and_leaves_no_database(tmp_path: Path) -> None:
    before = left_behind()

    ended = bench("raw", "drain", "--quick", "--into", str(tmp_path))

    assert ended.returncode == 0, ended.stderr
    assert "drain of no-op jobs" in ended.stdout
    (written,) = tmp_path.iterdir()
    report = json.loads(written.read_text())
    assert {figure["benchmark"] for figure in report["figures"]} == {"raw", "drain", "ratio"}
    assert "fsync=" in report["machine"]["its settings"]
    assert left_behind() == before


def test_an_unknown_benchmark_is_named() -> None:
    ended = bench("fast")

    assert ended.returncode == 2
    assert "'fast' is not a benchmark: give raw, drain" in ended.stderr


def test_sqlite_is_refused() -> None:
    ended = bench("--quick", url="sqlite:///unused.sqlite3")

    assert ended.returncode == 1
    assert "The benchmarks need PostgreSQL" in ended.stderr
