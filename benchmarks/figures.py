"""What a benchmark says: samples, gathered over the rounds into figures, and the ratios between some of them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RAW_LOOP = "claim 100, settle 100: 1 connection"
DRAIN = "drain of no-op jobs"
DRAIN_WITH_BACKLOG = "drain of no-op jobs beside a backlog"
DRAIN_IN_TRANSACTION = "drain of no-op jobs beside a long transaction"

RATIO_UNIT = "x"
# Both sides of a ratio come from the same round, minutes apart at most.
RATIOS = (
    ("drain / raw loop", DRAIN, RAW_LOOP),
    ("drain with / without a backlog", DRAIN_WITH_BACKLOG, DRAIN),
    ("drain with / without a long transaction", DRAIN_IN_TRANSACTION, DRAIN),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement. A ``unit`` a second is a rate, where more is better; of anything else less is."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """All samples of one name, in the order of the rounds."""

    benchmark: str
    name: str
    unit: str
    samples: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def worst(self) -> float:
        more_is_better = self.unit in {"jobs/s", "rows/s", RATIO_UNIT}
        return min(self.samples) if more_is_better else max(self.samples)


def gather(benchmark: str, samples: Iterable[Sample]) -> list[Figure]:
    """Put the samples of one benchmark together by name."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for sample in samples:
        values[sample.name, sample.unit].append(sample.value)
    return [Figure(benchmark=benchmark, name=name, unit=unit, samples=found) for (name, unit), found in values.items()]


def ratios(figures: Iterable[Figure]) -> list[Figure]:
    """Divide, round by round, what was measured of each pair in ``RATIOS``."""
    by_name = {figure.name: figure for figure in figures}
    return [
        Figure(benchmark="ratio", name=name, unit=RATIO_UNIT, samples=_quotients(by_name[above], by_name[below]))
        for name, above, below in RATIOS
        if above in by_name and below in by_name
    ]


def _quotients(above: Figure, below: Figure) -> list[float]:
    return [one / other for one, other in zip(above.samples, below.samples, strict=True)]
