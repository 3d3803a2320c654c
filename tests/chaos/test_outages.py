"""PostgreSQL restarted, away, or hanging up on one connection after another, under load."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.servers import OwnServer, own_server
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = pytest.mark.chaos


@pytest.fixture
def server() -> Iterator[OwnServer]:
    with own_server() as one:
        yield one


def test_a_restart_in_immediate_mode_under_load_loses_nothing(server: OwnServer) -> None:
    server.enqueue("mark", '{"seconds": 0.02}', times=600, max_attempts=50)

    with WorkerProcess(server.url) as first, WorkerProcess(server.url) as second:
        for number in (1, 2):
            wait_until(lambda number=number: server.count("state = 'succeeded'") >= 100 * number, seconds=60)
            server.stop()
            server.start_again()
        wait_until(lambda: server.count("state = 'succeeded'") == 600, seconds=120)
        server.enqueue("echo", '{"value": "heard"}')
        wait_until(lambda: server.count("state = 'succeeded'") == 601)
        for worker in (first, second):
            worker.send(signal.SIGTERM)
        codes = [first.wait(), second.wait()]
        output = first.output() + second.output()

    assert codes == [0, 0]
    assert server.count("state = 'dead' OR losses > 0") == 0
    assert server.one("SELECT count(DISTINCT job_id) FROM tests_mark WHERE ended_at IS NOT NULL") == 600
    assert output.count("Traceback") == 0
    assert "database is back" in output


def test_connections_cut_one_after_another_are_made_again(server: OwnServer) -> None:
    server.enqueue("mark", '{"seconds": 0.05}', times=400, max_attempts=50)

    with WorkerProcess(server.url) as worker:
        wait_until(lambda: server.count("state = 'succeeded'") >= 20)
        for (pid,) in server.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ):
            server.terminate(f"pid = {pid}")
        # At once: after a quiet while its last statement is another, the proof that the connection lives.
        wait_until(lambda: server.one("SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN jobs'") == 1)
        wait_until(lambda: server.count("state = 'succeeded'") == 400, seconds=120)
        worker.send(signal.SIGTERM)
        code = worker.wait()

    assert code == 0
    assert server.count("state = 'dead' OR losses > 0") == 0


def test_a_database_away_for_longer_than_a_lease_brings_no_mass_rescue(server: OwnServer) -> None:
    server.enqueue("wait", '{"seconds": 9}', times=8)
    # Who survived has a heartbeat to show it: more than a busy machine stands still for.
    settings = {"LEASE_SECONDS": 5, "HEARTBEAT_SECONDS": 1.5}

    with WorkerProcess(server.url, settings=settings) as first, WorkerProcess(server.url, settings=settings) as second:
        wait_until(lambda: server.count("state = 'running'") == 8)
        server.stop()
        away_since = time.monotonic()
        wait_until(lambda: time.monotonic() - away_since > 6)
        assert all(worker.process.poll() is None for worker in (first, second))
        server.start_again()
        wait_until(lambda: server.count("state = 'succeeded'") == 8, seconds=60)

    assert server.count("losses > 0") == 0


def test_a_worker_that_starts_without_a_database_waits_for_it(server: OwnServer) -> None:
    server.enqueue("echo", '{"value": 1}')
    server.stop()

    with WorkerProcess(server.url) as worker:
        wait_until(lambda: worker.heard("waiting for the database"))
        server.start_again()
        wait_until(lambda: server.count("state = 'succeeded'") == 1)
        worker.send(signal.SIGTERM)
        assert worker.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_stops_while_the_database_is_away(server: OwnServer, number: signal.Signals) -> None:
    with WorkerProcess(server.url) as worker:
        wait_until(lambda: server.one("SELECT count(*) FROM jobs_worker") == 1)
        server.stop()
        worker.send(number)
        code = worker.wait(20)
        server.start_again()

    assert code == 0


def test_a_result_that_cannot_be_written_is_offered_again_until_it_can(server: OwnServer, tmp_path: Path) -> None:
    away = tmp_path / "away"
    server.enqueue("wait_for", json.dumps({"path": str(away)}))

    with WorkerProcess(server.url, settings={"LEASE_SECONDS": 60, "HEARTBEAT_SECONDS": 5}) as worker:
        wait_until(lambda: server.count("state = 'running'") == 1)
        server.stop()
        away.touch()
        wait_until(lambda: worker.heard("database error ticker=settler"))
        server.start_again()
        wait_until(lambda: server.count("state = 'succeeded'") == 1)

    assert server.one("SELECT count(*) FROM jobs_jobrun") == 1
