"""``cron import``: schedules of another app, shown as they would be here, and created on request."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import datetime

from django.core.management.base import CommandError, OutputWrapper
from django.db import DatabaseError

from .... import clock, importing
from ....importing import SOURCES, Created, Found, Source
from ..base import Options, Subcommand, table
from .naming import on_clock, rule_of

SHOWN_RUNS = 3


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--from", required=True, dest="source", choices=SOURCES, help="The app that has them.")
    parser.add_argument("--apply", action="store_true", help="Create them, instead of only showing them.")
    parser.add_argument("--enable", action="store_true", help="Enable those that are enabled over there.")


def import_schedules(out: OutputWrapper, options: Options) -> None:
    source, enable, using = SOURCES[options["source"]], options["enable"], options["database"]
    now = clock.aware(clock.read(using))
    listed = _read(source, now)
    for found in listed:
        _show(out, found, now, enable=enable)
    if options["apply"]:
        _report(out, listed, importing.create(listed, enable=enable, using=using))
        return
    possible = sum(not found.refusal for found in listed)
    out.write(f"{possible} of {len(listed)} can be created. Nothing was written: --apply creates them.")


def _read(source: Source, now: datetime) -> list[Found]:
    if not source.is_installed:
        raise CommandError(
            f"{source.app!r} is not in INSTALLED_APPS, so its tables cannot be read: "
            f"install {source.package} (pip install {source.package}) and add {source.app!r} there for the time being."
        )
    try:
        return source.found(now=now)
    except DatabaseError as error:
        raise CommandError(f"The tables of {source.package} cannot be read; are they migrated? {error}") from error


def _show(out: OutputWrapper, found: Found, now: datetime, *, enable: bool) -> None:
    out.write(found.name)
    for line in table([(f"  {heading}", text) for heading, text in _facts(found, now, enable=enable)]):
        out.write(line)
    out.write("")


def _facts(found: Found, now: datetime, *, enable: bool) -> Iterator[tuple[str, str]]:
    if found.refusal:
        yield "refused", found.refusal
        return
    schedule = found.schedule(enable=enable)
    yield "kind", schedule.kind
    yield "rule", f"{rule_of(schedule)} in {schedule.timezone}" if schedule.expression else rule_of(schedule)
    runs = [on_clock(moment, schedule.timezone) for moment in schedule.upcoming(SHOWN_RUNS, after=now)]
    yield "next runs", ", ".join(runs) or "none"
    yield "enabled", _enabling(found, enable=enable)
    for text in found.held_back:
        yield "held back", text
    for text in found.lost:
        yield "lost", text


def _enabling(found: Found, *, enable: bool) -> str:
    if found.schedule(enable=enable).enabled:
        return "yes"
    if not found.was_enabled:
        return "no, nor was it"
    return "no, see below" if found.held_back else "no, unless by --enable"


def _report(out: OutputWrapper, listed: Sequence[Found], done: Created) -> None:
    enabled = sum(schedule.enabled for schedule in done.created)
    out.write(f"Created {len(done.created)} of {len(listed)}, {enabled} of them enabled.")
    if done.present:
        out.write(f"Left alone, since there is a schedule of that name: {', '.join(done.present)}.")
    if refused := [found.name for found in listed if found.refusal]:
        out.write(f"Refused, see above: {', '.join(refused)}.")
    if done.created:
        out.write("Stop the other app, or both will run them. `jobs cron resume NAME` enables one that is disabled.")


SUBCOMMANDS = (
    Subcommand(
        name="import",
        help="Show, and create, schedules from the tables of django-celery-beat or django-q2.",
        add_arguments=add_arguments,
        run=import_schedules,
    ),
)
