"""Which function handles which kind of job."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from .exceptions import Duration, InvalidHandler, InvalidJob, UnknownKind
from .retry import Backoff, seconds
from .specs import JobSpec

if TYPE_CHECKING:
    from .context import JobContext
    from .models import Job

P = ParamSpec("P")
R = TypeVar("R")
BackoffFunction = Callable[[int, BaseException], Duration]

_by_kind: dict[str, JobDefinition[..., Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What ``@job`` may say; ``None`` leaves a value to the settings."""

    queue: str = "default"
    priority: int = 0
    max_attempts: int | None = None
    timeout: Duration | None = None
    backoff: Backoff | Duration | BackoffFunction | None = None
    never_retry: tuple[type[BaseException], ...] = ()
    atomic: bool = False
    takes_context: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition(Generic[P, R]):
    """
    A registered handler. Calling it just calls the function; no job is made.

    ``using(...)`` returns a copy whose enqueues carry those options of
    ``JobSpec`` (``delay``, ``queue``, ``unique_key``, …).
    """

    kind: str
    function: Callable[..., R]
    options: Options = field(default_factory=Options)
    signature: inspect.Signature
    is_async: bool = False
    enqueue_options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self.function(*args, **kwargs)

    @property
    def backoff_function(self) -> BackoffFunction | None:
        backoff = self.options.backoff
        return backoff if callable(backoff) else None

    def using(self, **options: Any) -> JobDefinition[P, R]:
        """Return a copy that enqueues with these options of ``JobSpec``; unknown names raise TypeError."""
        JobSpec(self.kind, **options)
        return replace(self, enqueue_options={**self.enqueue_options, **options})

    def spec(self, *args: P.args, **kwargs: P.kwargs) -> JobSpec:
        """Return the job that ``enqueue`` would make of these arguments, for ``Job.objects.enqueue_many``."""
        return JobSpec(self, kwargs, args=args, **self.enqueue_options)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Enqueue a run of this handler with these arguments, in the caller's transaction."""
        from .models import Job

        return Job.objects.enqueue_spec(self.spec(*args, **kwargs))

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Do as ``enqueue``, from async code."""
        from .models import Job

        return await Job.objects.aenqueue_spec(self.spec(*args, **kwargs))

    def check_arguments(self, args: Iterable[Any], payload: Mapping[str, Any]) -> None:
        """Raise ``InvalidJob`` if the handler could not be called with these."""
        try:
            self.signature.bind(*args, **payload)
        except TypeError as error:
            raise InvalidJob(
                f"The arguments do not fit {self.kind!r}: {error}. The handler takes {self.signature}."
            ) from None


@overload
def job(function: Callable[P, R], /) -> JobDefinition[P, R]: ...
@overload
def job(
    kind: str | None = None, /, *, takes_context: Literal[True], **options: Any
) -> Callable[[Callable[Concatenate[JobContext, P], R]], JobDefinition[P, R]]: ...
@overload
def job(
    kind: str | None = None, /, *, takes_context: Literal[False] = False, **options: Any
) -> Callable[[Callable[P, R]], JobDefinition[P, R]]: ...
def job(target: Any = None, /, **options: Any) -> Any:
    """
    Register a function as the handler of a kind.

    ``kind`` defaults to the function's dotted path. The options are
    ``queue``, ``priority`` (-100 to 100, higher first), ``max_attempts``,
    ``timeout`` and ``backoff`` (seconds or timedelta; ``backoff`` also a
    ``Backoff`` or a callable ``(attempt, exception) -> seconds``),
    ``never_retry`` (exception types that go straight to dead), ``atomic``
    (handler and settlement commit together), ``takes_context`` and
    ``aliases`` (older kinds this handler also takes). Raises
    ``InvalidHandler`` for what cannot work.
    """
    if callable(target) and not isinstance(target, str):
        return _register(target, None, options)
    return lambda function: _register(function, target, options)


def find(kind: str) -> JobDefinition[..., Any] | None:
    """Return the handler of ``kind``, by name or alias, or None."""
    return _by_kind.get(kind)


def resolve(kind: str | JobDefinition[..., Any]) -> JobDefinition[..., Any]:
    """Return the handler that ``kind`` names or is; raise ``UnknownKind``."""
    if isinstance(kind, JobDefinition):
        return kind
    definition = _by_kind.get(kind) if isinstance(kind, str) else None
    if definition is None:
        raise UnknownKind(_unknown_message(kind))
    return definition


def kinds() -> list[str]:
    """Return every kind this process can run, aliases included, in order."""
    return sorted(_by_kind)


def _unknown_message(kind: object) -> str:
    if callable(kind):
        name = getattr(kind, "__qualname__", kind)
        return f"{name!r} is not registered: decorate it with @jobs.job."
    return (
        f"No handler is registered for kind {kind!r}: decorate one with @jobs.job({kind!r}) in a jobs or tasks module of an "
        "installed app, or set JOBS['ALLOW_UNKNOWN_KINDS'] where handlers live in another process."
    )


def _register(function: Callable[..., Any], kind: str | None, raw: dict[str, Any]) -> JobDefinition[..., Any]:
    definition = _defined(function, kind, raw)
    for name in (definition.kind, *definition.options.aliases):
        present = _by_kind.get(name)
        if present is not None and not _same_function(present.function, function):
            raise InvalidHandler(
                f"Kind {name!r} is already handled by {present.function.__module__}.{present.function.__qualname__}: "
                f"give {function.__module__}.{function.__qualname__} another kind."
            )
        _by_kind[name] = definition
    return definition


def _defined(function: Callable[..., Any], kind: str | None, raw: dict[str, Any]) -> JobDefinition[..., Any]:
    name = kind or f"{function.__module__}.{function.__qualname__}"
    options = _options(name, raw)
    if kind is None and ("<" in name or name.startswith("__main__.")):
        raise InvalidHandler(f"{name!r} cannot be found again by its path: give the kind, as in @job('mail.welcome').")
    if len(name) > 200:
        raise InvalidHandler(f"Kind {name!r} is longer than 200 characters: give a shorter one.")
    is_async = inspect.iscoroutinefunction(function)
    if options.atomic and is_async:
        raise InvalidHandler(f"{name!r} is async and atomic: Django has no async transactions, so make it a plain function.")
    signature = _signature(name, function, takes_context=options.takes_context)
    return JobDefinition(kind=name, function=function, options=options, signature=signature, is_async=is_async)


def _options(kind: str, raw: dict[str, Any]) -> Options:
    known = Options.__dataclass_fields__
    for name in raw:
        if name not in known:
            raise InvalidHandler(f"@job({kind!r}) has no option {name!r}: the options are {', '.join(known)}.")
    for name in ("never_retry", "aliases"):
        value = raw.get(name, ())
        raw = raw | {name: (value,) if isinstance(value, str | type) else tuple(value)}
    options = Options(**raw)
    try:
        _check_values(options)
    except InvalidJob as error:
        raise InvalidHandler(f"@job({kind!r}): {error}") from None
    return options


def _check_values(options: Options) -> None:
    check_queue(options.queue)
    check_priority(options.priority)
    if options.max_attempts is not None:
        check_max_attempts(options.max_attempts)
    if options.timeout is not None:
        seconds(options.timeout, "timeout", least=0.001)
    if options.backoff is not None and not callable(options.backoff):
        Backoff.of(options.backoff)


def check_queue(queue: object) -> None:
    """Raise ``InvalidJob`` unless ``queue`` can name a queue: 1 to 100 printable characters without commas."""
    if not isinstance(queue, str) or not 0 < len(queue) <= 100 or not queue.isprintable() or "," in queue:
        raise InvalidJob(f"queue={queue!r} is no queue name: use 1 to 100 printable characters without commas.")


def check_priority(priority: object) -> None:
    """Raise ``InvalidJob`` unless ``priority`` is a whole number from -100 to 100."""
    if isinstance(priority, bool) or not isinstance(priority, int) or not -100 <= priority <= 100:
        raise InvalidJob(f"priority={priority!r} is out of range: give -100 to 100 (higher runs first).")


def check_max_attempts(attempts: object) -> None:
    """Raise ``InvalidJob`` unless ``attempts`` is a whole number from 1 to 32,767."""
    if isinstance(attempts, bool) or not isinstance(attempts, int) or not 1 <= attempts <= 32_767:
        raise InvalidJob(f"max_attempts={attempts!r} is out of range: give 1 to 32767 (1 means no retry).")


def _signature(kind: str, function: Callable[..., Any], *, takes_context: bool) -> inspect.Signature:
    signature = inspect.signature(function)
    if not takes_context:
        return signature
    parameters = list(signature.parameters.values())
    if not parameters or parameters[0].kind not in {
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    }:
        raise InvalidHandler(f"@job({kind!r}, takes_context=True) needs the context as its first parameter.")
    return signature.replace(parameters=parameters[1:])


def _same_function(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
