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
    if moved := report.moved:
        yield Sentence(ngettext("%d job is pending again.", "%d jobs are pending again.", moved) % moved)
    yield from _left_alone(report)


def of_cancel(report: Report) -> Iterator[Sentence]:
    """Say what became of each job that a cancel was asked for."""
    if moved := report.moved:
        yield Sentence(ngettext("%d job was cancelled.", "%d jobs were cancelled.", moved) % moved)
    if asked := report.asked:
        text = ngettext("%d running job was asked to stop.", "%d running jobs were asked to stop.", asked)
        yield Sentence(text % asked)
    yield from _left_alone(report)


def _left_alone(report: Report) -> Iterator[Sentence]:
    if skipped := report.skipped:
        text = ngettext(
            "%d job was left alone: its state does not allow it, or somebody else has it locked.",
            "%d jobs were left alone: their states do not allow it, or somebody else has them locked.",
            skipped,
        )
        yield Sentence(text % skipped, is_good=False)
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
