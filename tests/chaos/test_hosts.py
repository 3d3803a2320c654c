"""Two hosts with addresses of their own, one of which loses its network in mid-job."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest
from django.db import connection

from jobs import sql
from jobs.models import Job, JobRun, Worker
from jobs.states import State
from tests.jobs import mark, noop
from tests.models import Mark
from tests.processes import WorkerProcess
from tests.working import wait_until

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("sqlite" in connection.settings_dict["ENGINE"], reason="SQLite is on one host"),
    pytest.mark.skipif(not shutil.which("ip") or os.geteuid() != 0, reason="needs root and Debian's package iproute2"),
]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Host:
    """A network namespace with one wire to this one: ours has address ``.1``, its own ``.2``."""

    def __init__(self, number: int) -> None:
        self.name = f"jobshost{number}"
        self.wire = f"jobswire{number}"
        self.address = f"10.213.{number}.1"
        ip("netns", "add", self.name)
        ip("link", "add", self.wire, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("address", "add", f"{self.address}/24", "dev", self.wire)
        ip("link", "set", self.wire, "up")
        ip("-n", self.name, "address", "add", f"10.213.{number}.2/24", "dev", "eth0")
        ip("-n", self.name, "link", "set", "eth0", "up")

    def cut_off(self) -> None:
        ip("link", "set", self.wire, "down")

    def reconnect(self) -> None:
        ip("link", "set", self.wire, "up")

    def remove(self) -> None:
        ip("netns", "delete", self.name)


class Forward(StreamRequestHandler):
    """Passes bytes between a host and the database on this one's loopback."""

    def handle(self) -> None:
        target: tuple[str, int] = self.server.target  # type: ignore[attr-defined]
        with socket.create_connection(target) as database:
            self.server.passing.append(database)  # type: ignore[attr-defined]
            pairs = {self.request: database, database: self.request}
            while True:
                for source in select.select(list(pairs), [], [])[0]:
                    try:
                        data = source.recv(65_536)
                        pairs[source].sendall(data)
                    except OSError:
                        return
                    if not data:
                        return


class Gate(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, host: Host, target: tuple[str, int]) -> None:
        super().__init__((host.address, 0), Forward)
        self.target = target
        self.passing: list[socket.socket] = []

    def close(self) -> None:
        """Hang up on everybody, so that no session is left in the database."""
        self.shutdown()
        self.server_close()
        for one in self.passing:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    made: list[Host] = []
    try:
        for number in (1, 2):
            made.append(Host(number))
        yield made[0], made[1]
    finally:
        for host in made:
            host.remove()


@pytest.fixture
def worker_on(hosts: tuple[Host, Host], database_url: str) -> Iterator[object]:
    config = connection.settings_dict
    target = (config["HOST"], int(config["PORT"]))
    gates: list[Gate] = []

    def start(host: Host) -> WorkerProcess:
        gate = Gate(host, target)
        threading.Thread(target=gate.serve_forever, daemon=True).start()
        gates.append(gate)
        url = database_url.replace(f"{target[0]}:{target[1]}", f"{host.address}:{gate.server_address[1]}")
        settings = {"LEASE_SECONDS": 6, "HEARTBEAT_SECONDS": 1}
        return WorkerProcess(url, "--concurrency", "1", settings=settings, before=["ip", "netns", "exec", host.name])

    yield start
    for gate in gates:
        gate.close()
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    wait_until(lambda: sql.fetch(connection, others) == [(0,)])


def test_a_host_cut_off_in_mid_job_is_fenced_and_comes_back(hosts: tuple[Host, Host], worker_on: object) -> None:
    lost, other = hosts
    job = mark.enqueue(25.0)

    with worker_on(lost) as cut_off:  # type: ignore[operator]
        wait_until(lambda: Mark.objects.exists())
        name = Worker.objects.get().name
        lost.cut_off()
        Job.objects.filter(pk=job.pk).update(args=[0.1])
        with worker_on(other) as survivor:  # type: ignore[operator]
            wait_until(lambda: Job.objects.get(pk=job.pk).state == State.SUCCEEDED, seconds=40)
            wait_until(lambda: cut_off.heard("lease lost"), seconds=40)
            survivor.send(signal.SIGTERM)
            survivor.wait()
        lost.reconnect()
        after = noop.enqueue()
        wait_until(lambda: Job.objects.get(pk=after.pk).state == State.SUCCEEDED, seconds=60)

    assert [run.outcome for run in JobRun.objects.filter(job=job).order_by("pk")] == ["lost", "succeeded"]
    assert JobRun.objects.get(job=after).worker == name
    first = Mark.objects.order_by("began_at").first()
    assert first is not None
    assert first.ended_at is None
