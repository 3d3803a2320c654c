"""The last page of the show: what ended how and why."""

from collections.abc import Iterator, Sequence

from .endings import Ending
from .happenings import Tone

Line = tuple[str, Tone]
HEADINGS = ("", "job", "what", "ended", "runs", "how and why")


def lines(endings: Sequence[Ending]) -> Iterator[Line]:
    """Yield the table's lines: a heading, one for each job, and the sum."""
    rows = [_cells(ending) for ending in endings]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    yield _joined(HEADINGS, widths), Tone.STRONG
    for ending, row in zip(endings, rows, strict=True):
        yield _joined(row, widths), Tone.PLAIN if ending.is_right else Tone.BAD
    yield "", Tone.PLAIN
    yield _sum(endings)


def _cells(ending: Ending) -> tuple[str, ...]:
    job, runs = ending.history.job, ending.history.runs
    mark = "ok" if ending.is_right else "WRONG"
    return mark, f"#{job.pk}", ending.role.title, str(job.state), str(len(runs)), ending.reasons


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _sum(endings: Sequence[Ending]) -> Line:
    wrong = sum(not ending.is_right for ending in endings)
    if wrong:
        return f"{wrong} of {len(endings)} jobs did not end as they should.", Tone.BAD
    return f"All {len(endings)} jobs ended as they should.", Tone.GOOD
