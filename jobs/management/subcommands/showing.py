"""``show``: one job, its values and its history."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from ... import stats
from ...durations import spoken
from ...models import Job
from ...stats import Document, Moment
from .base import Options, Subcommand, local, table
from .steering import job_id

MOST_CHARS = 2_000


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", type=job_id, metavar="ID", help="The id of a job.")


def show(out: OutputWrapper, options: Options) -> None:
    jobs: Any = Job.objects.using(options["database"]).filter(pk=options["id"]).defer(*stats.LARGE_COLUMNS)
    job = stats.with_signs(jobs).first()
    if job is None:
        raise CommandError(f"There is no job #{options['id']}: its id may be wrong, or it was pruned.")
    moments = stats.timeline(job)
    for line in (
        str(job),
        "",
        stats.explain(job),
        "",
        *_values(job),
        "",
        *_history(moments),
        *_last_traceback(moments),
    ):
        out.write(line)


def _values(job: Any) -> Iterator[str]:
    signs = [stats.shown_state(job).label, *(badge.label for badge in stats.badges(job))]
    values = {
        "state": ", ".join(str(sign) for sign in signs),
        "queue": f"{job.queue}, priority {job.priority}",
        "attempt": f"{job.attempt} of {job.max_attempts}",
        "worker": job.lease_owner,
        "unique key": job.unique_key,
        "error": job.error,
    }
    values |= {document.name: _json(document) for document in stats.documents(job)}
    return table([(f"  {name}", value) for name, value in values.items() if value])


def _json(document: Document) -> str:
    text = json.dumps(document.value, ensure_ascii=False)
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}… ({document.chars:,} characters)"


def _history(moments: list[Moment]) -> Iterator[str]:
    rows = [(local(moment.at), moment.title, moment.who, spoken(moment.took), moment.text) for moment in moments]
    return table([("When", "What", "Who", "Took", "Why"), *rows])


def _last_traceback(moments: list[Moment]) -> list[str]:
    tracebacks = [moment.traceback.text for moment in moments if moment.traceback]
    return ["", tracebacks[-1]] if tracebacks else []


SUBCOMMANDS = (
    Subcommand(name="show", help="Show one job, with what happened to it.", add_arguments=add_arguments, run=show),
)
