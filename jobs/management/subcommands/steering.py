"""``retry`` and ``cancel``, for jobs named by id or described."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from ... import operations, reports, stats
from ...models import Job
from ...models.queryset import JobQuerySet
from ...operations import Report
from ...reports import Sentence
from ...stats import ShownState
from .base import Options, Subcommand, add_reason, decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """An operation, how its report is worded, and the states it is for; the first ones are meant if none is named."""

    operation: Callable[..., Report]
    worded: Callable[[Report], Iterable[Sentence]]
    states: tuple[ShownState, ...]
    usual: tuple[ShownState, ...]


RETRY = Verb(
    operation=operations.retry,
    worded=reports.of_retry,
    states=(ShownState.DEAD, ShownState.CANCELLED),
    usual=(ShownState.DEAD,),
)
_LIVE = (ShownState.SCHEDULED, ShownState.BACKING_OFF, ShownState.PENDING, ShownState.RUNNING)
CANCEL = Verb(operation=operations.cancel, worded=reports.of_cancel, states=_LIVE, usual=_LIVE)


def add_arguments(verb: Verb, parser: ArgumentParser) -> None:
    usual = ", ".join(verb.usual)
    parser.add_argument("ids", nargs="*", type=job_id, metavar="ID", help="Ids of jobs; or else describe them:")
    parser.add_argument("--kind", help="Jobs of this kind.")
    parser.add_argument("--queue", help="Jobs of this queue.")
    parser.add_argument("--state", choices=[str(state) for state in verb.states], help=f"(default: {usual})")
    add_reason(parser)


def steer(verb: Verb, out: OutputWrapper, options: Options) -> None:
    described = any(options[name] is not None for name in ("kind", "queue", "state"))
    if described == bool(options["ids"]):
        raise CommandError("Name jobs by their ids, or describe them by --kind, --queue or --state: one of the two.")
    jobs = Job.objects.using(options["database"])
    if described:
        _steer_described(verb, jobs.all(), out, options)
    else:
        _steer_named(verb, jobs.filter(pk__in=options["ids"]), out, options)


def _steer_named(verb: Verb, jobs: JobQuerySet, out: OutputWrapper, options: Options) -> None:
    missing = sorted(set(options["ids"]) - set(jobs.values_list("pk", flat=True)))
    if missing:
        raise CommandError(f"There is no job {', '.join(f'#{pk}' for pk in missing)}: nothing was done.")
    report = verb.operation(jobs, **decision(options))
    if not report.moved + report.asked:
        states = ", ".join(f"#{job.pk} is {stats.shown_state(job).label}" for job in jobs.only("state", "attempt"))
        told = " ".join(sentence.text for sentence in verb.worded(report))
        raise CommandError(f"{told} ({states}; this is for {', '.join(str(state.label) for state in verb.states)}.)")
    _write(out, verb.worded(report))


def _steer_described(verb: Verb, jobs: JobQuerySet, out: OutputWrapper, options: Options) -> None:
    wanted = {name: options[name] for name in ("kind", "queue") if options[name] is not None}
    states = verb.usual if options["state"] is None else (ShownState(options["state"]),)
    sentences: list[Sentence] = []
    for state in states:
        report = verb.operation(stats.in_shown_state(jobs.filter(**wanted), state), **decision(options))
        sentences += verb.worded(report)
    _write(out, sentences or [Sentence("No job fits that description.")])


def _write(out: OutputWrapper, sentences: Iterable[Sentence]) -> None:
    for sentence in sentences:
        out.write(sentence.text)


def job_id(text: str) -> int:
    """Parse the id of a job as a person types it."""
    number = stats.as_id(text)
    if number is None:
        raise ArgumentTypeError(f"{text!r} is no id of a job: give whole numbers.")
    return number


def _subcommand(name: str, help_text: str, verb: Verb) -> Subcommand:
    run: Any = partial(steer, verb)
    return Subcommand(name=name, help=help_text, add_arguments=partial(add_arguments, verb), run=run)


SUBCOMMANDS = (
    _subcommand("retry", "Make dead or cancelled jobs pending again, with all their attempts.", RETRY),
    _subcommand("cancel", "Cancel waiting jobs, and ask running ones to stop.", CANCEL),
)
