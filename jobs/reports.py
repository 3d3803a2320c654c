"""What came of an operation, in the words that the admin and the command line share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .operations import Report

MOST_NAMED = 5


class Sentence(NamedTuple):
    """``is_good`` tells what was done from what was not."""

    text: str
    is_good: bool = True


def of_retry(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that a retry was asked for."""
    yield from _moved(report, ngettext("%d job is pending again.", "%d jobs are pending again.", report.moved))


def of_cancel(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that a cancel was asked for."""
    if moved := report.moved:
        yield Sentence(ngettext("%d job was cancelled.", "%d jobs were cancelled.", moved) % moved)
    if asked := report.asked:
        text = ngettext("%d running job was asked to stop.", "%d running jobs were asked to stop.", asked)
        yield Sentence(text % asked)
    yield from _left_alone(report)


def of_rescue(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that was to be taken from its worker."""
    text = ngettext("The lease of %d job was taken back.", "The leases of %d jobs were taken back.", report.moved)
    yield from _moved(report, text)


def of_trigger(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that was to run now."""
    yield from _moved(report, ngettext("%d job is pending now.", "%d jobs are pending now.", report.moved))


def of_postpone(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that was to wait."""
    yield from _moved(report, ngettext("%d job was postponed.", "%d jobs were postponed.", report.moved))


def of_reroute(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that was to have another queue or priority."""
    yield from _moved(report, ngettext("%d job was changed.", "%d jobs were changed.", report.moved))


def of_discard(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that was to be discarded."""
    yield from _moved(report, ngettext("%d job was discarded.", "%d jobs were discarded.", report.moved))


def _moved(report: Report, text: str) -> Iterator[Sentence]:
    if report.moved:
        yield Sentence(text % report.moved)
    yield from _left_alone(report)


def _left_alone(report: Report) -> Iterator[Sentence]:
    if skipped := report.skipped:
        text = ngettext(
            "%d job was left alone: its state does not allow it, or somebody else has it locked.",
            "%d jobs were left alone: their states do not allow it, or somebody else has them locked.",
            skipped,
        )
        yield Sentence(text % skipped, is_good=False)
    if forbidden := report.forbidden:
        text = ngettext(
            "%d job was left alone: its kind has a permission of its own, which you do not have.",
            "%d jobs were left alone: their kinds have permissions of their own, which you do not have.",
            forbidden,
        )
        yield Sentence(text % forbidden, is_good=False)
    for job_id, twin_id in islice(report.blocked_by.items(), MOST_NAMED):
        text = _("Job #%(job)d was left alone: job #%(twin)d has its unique key.")
        yield Sentence(text % {"job": job_id, "twin": twin_id}, is_good=False)
    if (unnamed := len(report.blocked_by) - MOST_NAMED) > 0:
        text = ngettext(
            "%d more job was left alone: another has its unique key.",
            "%d more jobs were left alone: others have their unique keys.",
            unnamed,
        )
        yield Sentence(text % unnamed, is_good=False)
