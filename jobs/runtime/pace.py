"""How many jobs to claim before there is a free slot for them."""

from __future__ import annotations

AHEAD_SECONDS = 0.075
WEIGHT = 0.05


class Pace:
    """
    Keeps each slot supplied for about 75 ms by the measured durations of runs.

    Starts at none and goes back to none when a long job shows up, so that a
    long job never makes others wait while a second worker idles.
    """

    def __init__(self, *, slots: int, most: int) -> None:
        self._slots = slots
        self._most = most
        self._mean: float | None = None

    def observe(self, seconds: float) -> None:
        """Take one run's duration into the moving mean; a long one counts at once."""
        mean = self._mean
        if mean is None or seconds > AHEAD_SECONDS:
            self._mean = seconds
        else:
            self._mean = mean + WEIGHT * (seconds - mean)

    def reset(self) -> None:
        """Forget what was measured: the next claim takes no more than there are free slots."""
        self._mean = None

    @property
    def ahead(self) -> int:
        if self._mean is None or self._mean > AHEAD_SECONDS:
            return 0
        return min(self._most, int(self._slots * AHEAD_SECONDS / max(self._mean, 1e-6)))
