"""How long something is, as people say it."""

from __future__ import annotations

from datetime import timedelta

from .numerals import short

MINUTE, HOUR, DAY = 60, 3_600, 86_400


def spoken(length: timedelta | float | None) -> str:
    """Return a duration (or seconds) with the two units that matter: ``420 ms``, ``12.3 s``, ``4 min 10 s``, ``7 d``."""
    if length is None:
        return ""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 1:
        return f"{short(seconds * 1000)} ms"
    if round(seconds) < MINUTE:
        return f"{short(seconds)} s"
    return _in_whole_units(round(seconds))


def spoken_roughly(length: timedelta | float) -> str:
    """Return how far off something is, to the second: nobody reads the milliseconds of an age."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    return spoken(max(1, round(seconds)))


def _in_whole_units(seconds: int) -> str:
    if seconds < HOUR:
        return _two(divmod(seconds, MINUTE), "min", "s")
    if seconds < DAY:
        return _two(divmod(seconds // MINUTE, HOUR // MINUTE), "h", "min")
    return _two(divmod(seconds // HOUR, DAY // HOUR), "d", "h")


def _two(parts: tuple[int, int], large: str, small: str) -> str:
    return f"{parts[0]} {large} {parts[1]} {small}" if parts[1] else f"{parts[0]} {large}"
