"""``queues``, ``pause`` and ``resume``."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from datetime import datetime, timedelta

from django.core.management.base import CommandError, OutputWrapper

from ... import clock, operations
from ...durations import DAY
from ...models import Queue
from .base import Options, Subcommand, add_reason, aware, decision, local, table, takes_nothing, typed_moment

MOST_SECONDS = 366 * DAY


def show_queues(out: OutputWrapper, options: Options) -> None:
    queues = list(Queue.objects.using(options["database"]).order_by("name"))
    if not queues:
        out.write("No worker and no person has met a queue yet.")
        return
    headings = ("Queue", "Status", "Paused by", "Since", "Until", "Reason")
    for line in table([headings, *(_row(queue) for queue in queues)]):
        out.write(line)


def _row(queue: Queue) -> tuple[str, ...]:
    if queue.paused_at is None:
        return (queue.name, "open", "", "", "", "")
    until = "resumed" if queue.resume_at is None else local(queue.resume_at)
    return (queue.name, "paused", queue.paused_by, local(queue.paused_at), until, queue.pause_reason)


def add_pause_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("queue", help="The name of a queue.")
    add_reason(parser)
    end = parser.add_mutually_exclusive_group()
    end.add_argument(
        "--until", type=typed_moment, metavar="TIME", help="Resume by itself then, as in 2026-12-01T10:00."
    )
    end.add_argument("--for", type=_seconds, metavar="SECONDS", dest="seconds", help="Resume by itself after so long.")


def pause(out: OutputWrapper, options: Options) -> None:
    name, using = options["queue"], options["database"]
    is_known = Queue.objects.using(using).filter(name=name).exists()
    queue = operations.pause(name, resume_at=_resume_at(options), using=using, **decision(options))
    until = "until it is resumed" if queue.resume_at is None else f"until {local(queue.resume_at)}"
    out.write(f"Queue {name!r} is paused {until}. Jobs that are running go on.")
    if not is_known:
        out.write(f"No worker and no person had met {name!r} before: is the name right?")


def _resume_at(options: Options) -> datetime | None:
    now = aware(clock.read(options["database"]))
    if options["seconds"] is not None:
        return now + timedelta(seconds=options["seconds"])
    until: datetime | None = options["until"]
    if until is not None and until <= now:
        raise CommandError(f"--until {local(until)} has passed: the database's time is {local(now)}.")
    return until


def add_resume_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("queue", help="The name of a queue.")
    add_reason(parser)


def resume(out: OutputWrapper, options: Options) -> None:
    name, using = options["queue"], options["database"]
    if operations.resume(name, using=using, **decision(options)):
        out.write(f"Queue {name!r} is resumed.")
        return
    known = list(Queue.objects.using(using).order_by("name").values_list("name", flat=True))
    if name not in known:
        raise CommandError(f"There is no queue {name!r}: the known ones are {', '.join(known) or 'none'}.")
    out.write(f"Queue {name!r} was not paused.")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= MOST_SECONDS:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to {MOST_SECONDS}.")
    return seconds


SUBCOMMANDS = (
    Subcommand(name="queues", help="Show which queues are paused.", add_arguments=takes_nothing, run=show_queues),
    Subcommand(
        name="pause",
        help="Stop workers from claiming jobs of a queue; jobs that are running go on.",
        add_arguments=add_pause_arguments,
        run=pause,
    ),
    Subcommand(
        name="resume",
        help="Let workers claim jobs of a queue again.",
        add_arguments=add_resume_arguments,
        run=resume,
    ),
)
