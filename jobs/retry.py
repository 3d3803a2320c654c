"""When a failed job is tried again: exponential backoff with a cap and random jitter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from .exceptions import Duration, InvalidJob
from .translating import translated as _

MAX_DELAY_SECONDS = 366 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """
    Wait ``min(base ** attempt, cap)`` seconds, plus a random 0 to ``jitter`` share of that.

    ``base`` is at least 1 and ``cap`` at least 0 (which retries at once), both
    at most 366 days in seconds; ``jitter`` is 0 to 1. Without jitter, a
    thousand jobs that failed together would come back together.
    """

    base: float = 2.0
    cap: float = 300.0
    jitter: float = 0.3

    def __post_init__(self) -> None:
        _in_range("base", self.base, 1, MAX_DELAY_SECONDS)
        _in_range("cap", self.cap, 0, MAX_DELAY_SECONDS)
        _in_range("jitter", self.jitter, 0, 1)

    def delay(self, attempt: int, *, chance: float) -> float:
        """Return the seconds to wait after ``attempt`` (from 1); ``chance`` is a random number from 0 to 1."""
        # The exponent is capped before the power is taken: 2.0 ** 1075 overflows,
        # and one such row would otherwise stop its whole batch.
        if self.cap <= 0:
            return 0.0
        if self.base <= 1 or attempt * math.log(self.base) < math.log(self.cap):
            plain = min(self.base**attempt, self.cap)
        else:
            plain = self.cap
        return plain * (1 + self.jitter * chance)

    @classmethod
    def stored(cls, base: float, cap: float, jitter: float) -> Backoff:
        """Return what a row says, brought into range: a row that somebody wrote by hand must not stop a worker."""
        return cls(base=_clamped(base, 1, 1e6), cap=_clamped(cap, 0, MAX_DELAY_SECONDS), jitter=_clamped(jitter, 0, 1))

    @classmethod
    def of(cls, value: Backoff | Duration) -> Backoff:
        """Return ``value`` itself, or for a number of seconds or a timedelta one that always waits that long, and jitter."""
        if isinstance(value, Backoff):
            return value
        constant = seconds(value, "backoff", most=MAX_DELAY_SECONDS)
        return cls(base=max(1.0, constant), cap=constant)


def _clamped(value: float, least: float, most: float) -> float:
    return min(max(value, least), most) if value == value else least


def seconds(value: Duration, name: str, *, least: float = 0.0, most: float = MAX_DELAY_SECONDS) -> float:
    """Return a duration (number of seconds or timedelta) as seconds; raise ``InvalidJob`` outside ``least``-``most``."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = _("%(name)s=%(value)r is not a duration: give seconds as a number, or a timedelta.")
        raise InvalidJob(message % {"name": name, "value": value})
    # NaN fails every comparison, so it is refused here too.
    if not least <= value <= most:
        message = _("%(name)s=%(value)r is out of range: give %(least)g to %(most)g seconds.")
        raise InvalidJob(message % {"name": name, "value": value, "least": least, "most": most})
    return float(value)


def _in_range(name: str, value: object, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidJob(f"Backoff {name}={value!r} is out of range: give {least:g} to {most:g}.")
