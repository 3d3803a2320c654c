"""Every check an enqueue makes: from a ``JobSpec`` to the values of a row, or a clear refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.conf import settings as django_settings
from django.utils import timezone

from . import payload, registry
from .conf import settings
from .exceptions import InvalidJob
from .options import Options, check_kind, check_max_attempts, check_priority, check_queue
from .retry import Backoff, seconds
from .specs import JobSpec
from .translating import translated as _

EARLIEST, LATEST = 1970, 9000
NO_OPTIONS = Options()
NOTHING = "{}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A job that may be stored. ``values`` are its columns (``delay``, seconds,
    stands for a ``run_at`` that the database will compute). ``usual`` and
    ``text`` are the same as two JSON objects without what is null: what all
    jobs of its kind have whose specs do not say otherwise, and the rest.
    """

    values: Mapping[str, Any]
    usual: str
    text: str

    @property
    def unique_key(self) -> str | None:
        key: str | None = self.values.get("unique_key")
        return key

    @property
    def whole_text(self) -> str:
        """All columns as one JSON object."""
        return self.text if self.usual == NOTHING else f"{self.usual[:-1]},{self.text[1:]}"

    def having(self, **columns: Any) -> Candidate:
        """Return the same job with these columns, which no spec can decide."""
        return Candidate({**self.values, **columns}, self.usual, f"{self.text[:-1]},{payload.dumps(columns)[1:]}")


def admit(spec: JobSpec, *, vendor: str, allow_unknown: bool = False) -> Candidate:
    """
    Return what ``spec`` stands for; raise ``InvalidJob`` naming the first field that cannot be stored.

    ``allow_unknown`` (also a setting) takes a kind whose handler is not here.
    """
    if not isinstance(spec, JobSpec):
        raise InvalidJob(f"{spec!r} is no JobSpec: use JobSpec(kind, payload) or handler.spec(...).")
    definition = _definition(spec.kind, allow_unknown=allow_unknown or settings.allow_unknown_kinds)
    kind = definition.kind if definition else spec.kind
    options = definition.options if definition else NO_OPTIONS
    args, keywords = _list(spec.args, "args"), _dict(spec.payload, "payload")
    written = _written_arguments(args, keywords)
    if definition:
        definition.check_arguments(args, keywords)
    usual, usual_text = _usual(str(kind), options, settings.max_attempts)
    own = _own(spec, vendor=vendor)
    values = {**usual, "metadata": {}, **own, "args": args, "payload": keywords}
    if not own:
        return Candidate(values, usual_text, f"{{{written}}}")
    if own.keys() & usual.keys():
        return Candidate(values, NOTHING, f"{payload.dumps({**usual, **own})[:-1]},{written}}}")
    return Candidate(values, usual_text, f"{payload.dumps(own)[:-1]},{written}}}")


def _definition(kind: Any, *, allow_unknown: bool) -> registry.JobDefinition[..., Any] | None:
    if not allow_unknown or not isinstance(kind, str):
        return registry.resolve(kind)
    definition = registry.find(kind)
    if definition is None:
        check_kind(kind)
    return definition


def _list(value: Any, name: str) -> list[Any]:
    # A string would become a list of its letters, and a dict one of its keys.
    if not isinstance(value, list | tuple):
        raise InvalidJob(f"{name} is a {type(value).__name__}: give a list or tuple.")
    return list(value)


def _dict(value: Any, name: str) -> dict[str, Any]:
    if value is None:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InvalidJob(f"{name} is a {type(value).__name__}: give a dictionary.")
    return dict(value)


def _written_arguments(args: list[Any], keywords: dict[str, Any]) -> str:
    if not args and not keywords:
        return '"args":[],"payload":{}'
    most = settings.payload_max_bytes
    for key in keywords:
        if not isinstance(key, str):
            raise InvalidJob(_("payload has the key %r: it holds keyword arguments, so use their names.") % (key,))
    args_text = payload.check(args, "args", max_bytes=most) if args else "[]"
    keywords_text = payload.check(keywords, "payload", max_bytes=most) if keywords else "{}"
    return f'"args":{args_text},"payload":{keywords_text}'


@lru_cache(maxsize=1_000)
def _usual(kind: str, options: Options, max_attempts: int) -> tuple[dict[str, Any], str]:
    """Return the columns, and their JSON, that a job of this kind has if its spec says nothing."""
    backoff = options.backoff if options.backoff is not None and not callable(options.backoff) else Backoff()
    values = {
        "kind": kind,
        "queue": options.queue,
        "priority": options.priority,
        "max_attempts": options.max_attempts or max_attempts,
        **_backoff(backoff),
        "metadata": {},
    }
    if options.timeout is not None:
        values["timeout"] = seconds(options.timeout, "timeout", least=0.001)
    return values, payload.dumps(values)


def _backoff(value: Any) -> dict[str, Any]:
    if callable(value):
        raise InvalidJob("backoff cannot be a function here: give it to @job, or pass a Backoff or seconds.")
    backoff = Backoff.of(value)
    return {"backoff_base": backoff.base, "backoff_cap": backoff.cap, "backoff_jitter": backoff.jitter}


def _own(spec: JobSpec, *, vendor: str) -> dict[str, Any]:
    """Return the columns that this spec itself decides."""
    own: dict[str, Any] = {}
    if spec.queue is not None:
        check_queue(spec.queue)
        own["queue"] = spec.queue
    if spec.priority is not None:
        check_priority(spec.priority)
        own["priority"] = spec.priority
    if spec.max_attempts is not None:
        check_max_attempts(spec.max_attempts)
        own["max_attempts"] = spec.max_attempts
    if spec.timeout is not None:
        own["timeout"] = seconds(spec.timeout, "timeout", least=0.001)
    if spec.backoff is not None:
        own |= _backoff(spec.backoff)
    return own | _times(spec, vendor=vendor) | _identity(spec)


def _times(spec: JobSpec, *, vendor: str) -> dict[str, Any]:
    times: dict[str, Any] = {}
    if spec.run_at is not None and spec.delay is not None:
        raise InvalidJob(_("run_at and delay are both given: give one of them."))
    if spec.delay is not None and (delay := seconds(spec.delay, "delay")):
        times["delay"] = delay
    if spec.run_at is not None:
        times["run_at"] = moment_text(spec.run_at, "run_at", vendor=vendor)
    if spec.expires_at is not None:
        times["expires_at"] = moment_text(spec.expires_at, "expires_at", vendor=vendor)
        if spec.run_at is not None and check_moment(spec.expires_at, "expires_at") < check_moment(
            spec.run_at, "run_at"
        ):
            raise InvalidJob(f"expires_at={spec.expires_at!r} is before run_at={spec.run_at!r}: it could never run.")
    return times


def _identity(spec: JobSpec) -> dict[str, Any]:
    identity: dict[str, Any] = {}
    if spec.on_conflict not in ("skip", "replace", "raise"):
        raise InvalidJob(f"on_conflict={spec.on_conflict!r} is not known: give 'skip', 'replace' or 'raise'.")
    key: Any = spec.unique_key
    if key is None and spec.on_conflict != "skip":
        raise InvalidJob(f"on_conflict={spec.on_conflict!r} is given without a unique_key: give both.")
    if key is not None:
        if not isinstance(key, str) or not 0 < len(key) <= 250:
            raise InvalidJob(_("unique_key=%r is no key: give a text of 1 to 250 characters.") % (key,))
        payload.check(key, "unique_key", max_bytes=2_000)
        identity["unique_key"] = key
    if spec.metadata is not None:
        identity["metadata"] = _dict(spec.metadata, "metadata")
        payload.check(identity["metadata"], "metadata", max_bytes=settings.payload_max_bytes)
    return identity


def moment_text(value: Any, name: str, *, vendor: str) -> str:
    """Return a datetime as this database compares it: ISO text with the zone, or UTC text on SQLite."""
    moment = check_moment(value, name)
    if vendor == "sqlite":
        # As Django writes it, without microseconds where there are none: texts are compared.
        return str(moment.astimezone(UTC).replace(tzinfo=None))
    return moment.isoformat()


def check_moment(value: Any, name: str) -> datetime:
    """Return a time with its zone; raise ``InvalidJob`` for what is none, or not within what can be stored."""
    if not isinstance(value, datetime):
        raise InvalidJob(f"{name}={value!r} is not a datetime.")
    if not EARLIEST <= value.year <= LATEST:
        values = {"name": name, "value": value, "earliest": EARLIEST, "latest": LATEST}
        message = _("%(name)s=%(value)r is out of range: give a year from %(earliest)d to %(latest)d.")
        raise InvalidJob(message % values)
    if not timezone.is_naive(value):
        return value
    if django_settings.USE_TZ:
        raise InvalidJob(f"{name}={value!r} has no time zone: use django.utils.timezone.make_aware().")
    return timezone.make_aware(value, timezone.get_default_timezone())


def stored(value: str | datetime | None, *, vendor: str) -> datetime | None:
    """Return a time as this database gives it the way Django shows it: aware under USE_TZ, else naive in the site's zone."""
    if value is None:
        return None
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if timezone.is_naive(moment):
        if vendor != "sqlite":
            return moment
        moment = moment.replace(tzinfo=UTC)
    return moment if django_settings.USE_TZ else timezone.make_naive(moment, timezone.get_default_timezone())
