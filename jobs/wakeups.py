"""
Telling idle workers at once that there is work: NOTIFY on PostgreSQL, after the commit.

A hint and no more: polling finds everything by itself, so a lost or
unsupported notification costs latency only. Inside the transaction NOTIFY
would make all writers queue for one lock at commit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connections, transaction

from . import sql
from .conf import settings

logger = logging.getLogger(__name__)

CHANNEL = "jobs"
READY = "ready"
SOON = "soon"
CANCEL = "cancel"
DRAIN = "drain"


@dataclass(frozen=True, slots=True)
class Wakeup:
    """One notification: ``ready`` with a queue, ``soon`` for a job to come, ``cancel`` and ``drain`` with a worker."""

    what: str
    whom: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.whom}".strip()

    @classmethod
    def parse(cls, payload: str) -> Wakeup:
        what, _, whom = payload.partition(" ")
        return cls(what, whom)


@dataclass(frozen=True, slots=True)
class _Announcement:
    """The on_commit hook. Equal ones in a row are one: a transaction of a thousand enqueues sends a single NOTIFY."""

    wakeup: Wakeup
    using: str

    def __getattr__(self, name: str) -> str:
        # Django 5.2 asks a hook that failed for its name, to log it.
        if name == "__qualname__":
            return f"announce({str(self.wakeup)!r})"
        raise AttributeError(name)

    def __call__(self) -> None:
        sql.fetch(connections[self.using], sql.NOTIFY, {"channel": CHANNEL, "payload": str(self.wakeup)})


def announce(wakeups: Iterable[Wakeup], *, using: str) -> None:
    """
    Notify workers once the present transaction has committed, or at once in autocommit.

    Never raises: a NOTIFY that fails is logged. Does nothing where the
    database has no NOTIFY or ``JOBS["NOTIFY"]`` is off.
    """
    connection = connections[using]
    if connection.vendor != "postgresql" or not settings.notify:
        return
    for wakeup in wakeups:
        announcement = _Announcement(wakeup, using)
        waiting = connection.run_on_commit
        # Compared with the last hook only: one set earlier may belong to a
        # savepoint that is rolled back, and would take this one with it.
        if not (waiting and waiting[-1][1] == announcement and waiting[-1][0] == set(connection.savepoint_ids)):
            transaction.on_commit(announcement, using=using, robust=True)
