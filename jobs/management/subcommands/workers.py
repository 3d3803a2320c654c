"""``workers`` and ``drain``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from ... import operations
from ...models import Worker
from .base import Options, Subcommand, add_reason, decision, local, table, takes_nothing


def show_workers(out: OutputWrapper, options: Options) -> None:
    workers = list(Worker.objects.using(options["database"]).with_condition())
    if not workers:
        out.write("No worker has run lately.")
        return
    headings = ("Worker", "Status", "Running", "Queues", "Version", "Last heartbeat")
    for line in table([headings, *(_row(worker) for worker in workers)]):
        out.write(line)


def _row(worker: Any) -> tuple[str, ...]:
    running = f"{worker.running} of {worker.concurrency}"
    queues = ", ".join(worker.queues) or "all"
    return (worker.name, worker.condition, running, queues, worker.version, local(worker.heartbeat_at))


def add_drain_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("worker", help="The name of a worker, as `jobs workers` shows it.")
    add_reason(parser)


def drain(out: OutputWrapper, options: Options) -> None:
    name, using = options["worker"], options["database"]
    if operations.drain(name, using=using, **decision(options)):
        out.write(f"Worker {name!r} was asked to finish what it runs and end.")
        return
    worker = Worker.objects.using(using).filter(name=name).first()
    if worker is None:
        raise CommandError(f"There is no worker {name!r}: `jobs workers` shows their names.")
    out.write(f"Worker {name!r} {'was asked before' if worker.stopped_at is None else 'has stopped'}.")


SUBCOMMANDS = (
    Subcommand(
        name="workers", help="Show the workers and how they are.", add_arguments=takes_nothing, run=show_workers
    ),
    Subcommand(
        name="drain",
        help="Ask a worker to finish what it runs and end, not to be replaced.",
        add_arguments=add_drain_arguments,
        run=drain,
    ),
)
