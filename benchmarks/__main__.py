"""Measure, print and keep: ``python -m benchmarks [raw drain enqueue pickup idle fleet] [--quick]``."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import django
from django.core.management import call_command

from project import postgres

from . import machine, report
from .database import Database, own_database
from .figures import Figure, Sample, gather, ratios
from .scale import FULL, QUICK, Scale

# In this order, so that both sides of a ratio are measured one after the other.
BENCHMARKS = ("raw", "drain", "enqueue", "pickup", "idle", "fleet")


def main() -> None:
    """Take the command line, find a server, and leave nothing on it."""
    options = _parser().parse_args()
    scale = QUICK if options.quick else FULL
    scale = replace(scale, rounds=options.repeats or scale.rounds)
    chosen = [name for name in BENCHMARKS if name in options.names or not options.names]
    # So that a SIGTERM drops the database too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with postgres.running("bench", fresh=True) as server_url:
        if not server_url.startswith(("postgres://", "postgresql://")):
            sys.exit("The benchmarks need PostgreSQL: install it, or set DATABASE_URL to a postgres:// URL.")
        with own_database(server_url) as database:
            _prepare()
            _measure_and_report(chosen, scale, database, folder=options.into)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = f"any of {', '.join(BENCHMARKS)} (default: all)"
    parser.add_argument("names", nargs="*", type=_known, metavar="benchmark", help=names)
    parser.add_argument("--quick", action="store_true", help="a smoke run: seconds, with figures that mean nothing")
    parser.add_argument("--repeats", type=int, help=f"rounds over all that was chosen (default: {FULL.rounds})")
    parser.add_argument("--into", type=Path, default=report.FOLDER, metavar="FOLDER", help="default: %(default)s")
    return parser


def _known(name: str) -> str:
    if name not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"{name!r} is not a benchmark: give {', '.join(BENCHMARKS)}.")
    return name


def _prepare() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    django.setup()
    call_command("migrate", verbosity=0)


def _measure_and_report(chosen: Sequence[str], scale: Scale, database: Database, *, folder: Path) -> None:
    began_at, measured_on = report.moment(), machine.describe(database.url)
    print(report.facts(measured_on), end="\n\n", flush=True)
    figures = _measured(chosen, scale, database)
    figures += ratios(figures)
    print(f"\n{report.table(figures)}\n")
    print(f"Written to {report.save(measured_on, figures, began_at=began_at, folder=folder)}")


def _measured(chosen: Sequence[str], scale: Scale, database: Database) -> list[Figure]:
    samples: dict[str, list[Sample]] = {name: [] for name in chosen}
    for turn in range(1, scale.rounds + 1):
        for name in chosen:
            print(f"round {turn} of {scale.rounds}: {name}", flush=True)
            samples[name] += _samples(name, scale, database)
    return [figure for name in chosen for figure in gather(name, samples[name])]


def _samples(name: str, scale: Scale, database: Database) -> Iterator[Sample]:
    # By name and late: these modules import models, for which the site must be up.
    measure = importlib.import_module(f"benchmarks.{name}").measure
    yield from measure(scale, database)


if __name__ == "__main__":
    main()
