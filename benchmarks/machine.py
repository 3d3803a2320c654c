"""What the figures were measured on, without which they say little."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import django
import psycopg

import jobs

SERVER_SETTINGS = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size")


def describe(url: str) -> dict[str, str]:
    """Return, in the order to print it, the machine, the versions and the server's settings."""
    return {
        "CPU": f"{_cpu()}, {len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} cores",
        "memory": f"{_memory_bytes() / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load before": _load(),
        "jobs": jobs.__version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "Django": django.get_version(),
        "psycopg": f"{psycopg.__version__} ({psycopg.pq.__impl__}, libpq {psycopg.pq.version()})",
        **_server(url),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _load() -> str:
    return " ".join(f"{load:.2f}" for load in os.getloadavg()) + " (1, 5, 15 minutes)"


def _server(url: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        values = {name: _setting(connection, name) for name in ("server_version", *SERVER_SETTINGS)}
        host = connection.info.host or "a socket"
    return {
        "PostgreSQL": f"{values.pop('server_version')} at {host}",
        "its settings": ", ".join(f"{name}={value}" for name, value in values.items()),
    }


def _setting(connection: psycopg.Connection, name: str) -> str:
    (value,) = connection.execute("SELECT CURRENT_SETTING(%s)", [name]).fetchone() or ("",)
    return str(value)
