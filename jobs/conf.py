"""The one setting, ``JOBS = {...}``: its keys, defaults and limits, read lazily."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import cache
from typing import Any, cast

from django.conf import settings as django_settings
from django.core.signals import setting_changed

from .exceptions import InvalidSettings

DAY = 86_400.0
CENTURY = 36_525 * DAY
RETENTION: dict[str, float | None] = {
    "succeeded": 7 * DAY,
    "cancelled": 7 * DAY,
    "dead": 30 * DAY,
    "runs": 90 * DAY,
    "events": 90 * DAY,
    "workers": 1 * DAY,
}


# Whoever finds a key of theirs hidden without need loses little; one shown by mistake is in a screenshot.
MASKED_KEYS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "access_key",
    "private_key",
    "authorization",
    "credential",
    "cookie",
    "session_id",
    "card",
    "cvv",
    "iban",
)


def _limited(default: float, least: float, most: float, help_text: str) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "help": help_text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values in force. Durations are seconds; sizes are bytes of UTF-8."""

    lease_seconds: float = _limited(30, 1, DAY, "A job whose worker is silent for this long is given to another.")
    heartbeat_seconds: float = _limited(10, 0.1, DAY / 3, "How often a worker renews its leases.")
    poll_seconds: float = _limited(0.5, 0.01, 3600, "How often an idle worker looks for due jobs.")
    max_attempts: int = _limited(8, 1, 32_767, "Attempts a job gets unless it says otherwise.")
    timeout_seconds: float = _limited(3600, 0.01, 366 * DAY, "How long one run may take unless the job says otherwise.")
    stop_grace_seconds: float = _limited(10, 0, DAY, "How long a handler told to stop may go on before it is given up.")
    grace_seconds: float = _limited(30, 0, DAY, "How long a worker that shuts down waits for running handlers.")
    notify: bool = field(
        default=True, metadata={"help": "Wake workers with NOTIFY (PostgreSQL); without it they poll only."}
    )
    claim_ahead: int = _limited(400, 0, 10_000, "The most jobs one process claims before it has a free slot for them.")
    quarantine_losses: int = _limited(3, 1, 100, "A job that took this many workers with it goes to dead.")
    unknown_kind_grace_seconds: float = _limited(600, 0, 30 * DAY, "How long a kind nobody handles waits before dead.")
    allow_unknown_kinds: bool = field(
        default=False, metadata={"help": "Let this process enqueue kinds whose handlers it does not carry."}
    )
    payload_max_bytes: int = _limited(1_048_576, 2, 64 * 1_048_576, "The largest payload or args, as JSON.")
    result_max_bytes: int = _limited(262_144, 2, 64 * 1_048_576, "A larger result is stored as a note of its size.")
    error_max_chars: int = _limited(20_000, 100, 10_000_000, "Longer tracebacks are cut in the middle.")
    log_max_chars: int = _limited(20_000, 0, 10_000_000, "How much of the end of ctx.log() is kept for each run.")
    retention: Mapping[str, float | None] = field(
        default_factory=lambda: RETENTION,
        metadata={"help": "Seconds (or timedelta; None keeps for ever) that finished jobs and their history are kept."},
    )
    masked_keys: tuple[str, ...] = field(
        default=MASKED_KEYS,
        metadata={"help": "What stands under a key that contains one of these is hidden from whoever looks at a job."},
    )


class LazySettings:
    """Reads ``JOBS`` when an attribute is asked for, so that ``override_settings`` is honoured."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_load(), name)


settings = cast(Settings, LazySettings())


def problems(raw: Any) -> Iterator[str]:
    """Yield a sentence for each thing wrong with ``raw``, the value of the JOBS setting."""
    if not isinstance(raw, dict):
        yield f"JOBS is {type(raw).__name__}: make it a dictionary."
        return
    found = False
    for problem in _key_problems(raw):
        found = True
        yield problem
    if not found:
        yield from _lease_problems(raw)


def _key_problems(raw: dict[Any, Any]) -> Iterator[str]:
    known = {known_field.name.upper(): known_field for known_field in fields(Settings)}
    for key, value in raw.items():
        if key not in known:
            near = difflib.get_close_matches(str(key).upper(), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}."
            yield f"JOBS[{key!r}] is not a known key: {hint}"
        elif key == "RETENTION":
            yield from _retention_problems(value)
        elif key == "MASKED_KEYS":
            yield from _masked_problems(value)
        else:
            yield from _value_problems(key, value, known[key])


def _lease_problems(raw: dict[str, Any]) -> Iterator[str]:
    """Two heartbeats may fail before a lease ends; with less room, a worker would give up its own jobs."""
    defaults = {known.name.upper(): known.default for known in fields(Settings)}
    lease, heartbeat = (_as_seconds(raw.get(key, defaults[key])) for key in ("LEASE_SECONDS", "HEARTBEAT_SECONDS"))
    if heartbeat * 3 > lease * (1 + 1e-9):
        yield (
            f"JOBS['HEARTBEAT_SECONDS'] is {heartbeat:g} and JOBS['LEASE_SECONDS'] is {lease:g}: "
            "set the heartbeat to at most a third of the lease."
        )


def _value_problems(key: str, value: Any, known: Any) -> Iterator[str]:
    if known.type == "bool":
        if not isinstance(value, bool):
            yield f"JOBS[{key!r}] is {value!r}: give True or False."
        return
    number = value.total_seconds() if isinstance(value, timedelta) and known.type == "float" else value
    wanted = int if known.type == "int" else int | float
    if isinstance(number, bool) or not isinstance(number, wanted):
        yield f"JOBS[{key!r}] is {value!r}: give {'a whole number' if wanted is int else 'seconds'}."
    elif not known.metadata["least"] <= number <= known.metadata["most"]:
        yield f"JOBS[{key!r}] is {value!r}: give {known.metadata['least']:g} to {known.metadata['most']:g}."


def _retention_problems(value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"JOBS['RETENTION'] is {value!r}: give a dictionary with any of {', '.join(RETENTION)}."
        return
    for name, kept in value.items():
        if name not in RETENTION:
            yield f"JOBS['RETENTION'][{name!r}] is not a known key: the keys are {', '.join(RETENTION)}."
        elif kept is not None and not _can_be_kept(_as_seconds(kept)):
            yield (
                f"JOBS['RETENTION'][{name!r}] is {kept!r}: "
                "give seconds or a timedelta of up to a hundred years, or None to keep for ever."
            )


def _masked_problems(value: Any) -> Iterator[str]:
    if not isinstance(value, list | tuple | set | frozenset):
        yield f"JOBS['MASKED_KEYS'] is {value!r}: give a list of words, or an empty one to hide nothing."
        return
    for word in value:
        # One without a letter or digit would be in every key.
        if not isinstance(word, str) or not any(map(str.isalnum, word)):
            yield f"JOBS['MASKED_KEYS'] has {word!r}: give words that have a letter or a digit."


def _can_be_kept(seconds: Any) -> bool:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds <= CENTURY


def _as_seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


@cache
def _load() -> Settings:
    raw = getattr(django_settings, "JOBS", {})
    for problem in problems(raw):
        raise InvalidSettings(problem)
    values = {key.lower(): _as_seconds(value) for key, value in raw.items()}
    if "masked_keys" in values:
        values["masked_keys"] = tuple(values["masked_keys"])
    kept = {name: _as_seconds(value) for name, value in raw.get("RETENTION", {}).items()}
    return Settings(**(values | {"retention": RETENTION | kept}))


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "JOBS":
        _load.cache_clear()


setting_changed.connect(_forget, dispatch_uid="jobs.conf")
