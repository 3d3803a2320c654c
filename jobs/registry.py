"""Which function handles which kind of job."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from .exceptions import InvalidHandler, InvalidJob, UnknownKind
from .options import BackoffFunction, Options, check_kind, check_queue, options_of
from .specs import JobSpec
from .translating import translated as _

if TYPE_CHECKING:
    from .context import JobContext
    from .models import Job

__all__ = ["JobDefinition", "check_queue", "find", "job", "kinds", "resolve"]

P = ParamSpec("P")
R = TypeVar("R")

_by_kind: dict[str, JobDefinition[..., Any]] = {}
SHAPES = 1_000


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
    _fitting: set[tuple[int, tuple[str, ...]]] = field(default_factory=set, repr=False, compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self.function(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[..., R]:
        return self.function

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __repr__(self) -> str:
        return f"<job {self.kind!r}: {self.function.__module__}.{self.function.__qualname__}>"

    @property
    def backoff_function(self) -> BackoffFunction | None:
        backoff = self.options.backoff
        return backoff if callable(backoff) else None

    def using(self, **options: Any) -> JobDefinition[P, R]:
        """Return a copy that enqueues with these options of ``JobSpec``; unknown names raise TypeError."""
        for name in ("args", "payload"):
            if name in options:
                raise TypeError(f"using() takes no {name!r}: give the arguments to enqueue().")
        JobSpec(self.kind, **options)
        return replace(self, enqueue_options={**self.enqueue_options, **options})

    def spec(self, *args: P.args, **kwargs: P.kwargs) -> JobSpec:
        """Return the job that ``enqueue`` would make of these arguments, for ``Job.objects.enqueue_many``."""
        return JobSpec(self, kwargs, args=args, **self.enqueue_options)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Enqueue a run of this handler with these arguments, in the caller's transaction."""
        from .models import Job

        return Job.objects.enqueue(self.spec(*args, **kwargs))

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Do as ``enqueue``, from async code."""
        from .models import Job

        return await Job.objects.aenqueue(self.spec(*args, **kwargs))

    def check_arguments(self, args: Sequence[Any], payload: Mapping[str, Any]) -> None:
        """Raise ``InvalidJob`` if the handler could not be called with these."""
        # Only how many and which names matter, so that each shape is worked out once.
        shape = (len(args), tuple(payload))
        if shape in self._fitting:
            return
        context = [None] if self.options.takes_context else []
        try:
            inspect.signature(self.function).bind(*context, *args, **payload)
        except TypeError as error:
            values = {"kind": self.kind, "error": error, "signature": self.signature}
            message = _("The arguments do not fit %(kind)r: %(error)s. The handler takes %(signature)s.") % values
            raise InvalidJob(message) from None
        if len(self._fitting) < SHAPES:
            self._fitting.add(shape)


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
    (handler and settlement commit together), ``takes_context``,
    ``aliases`` (older kinds this handler also takes) and ``permission`` (what
    a person must have, beside our own, to start such a job by hand). Raises
    ``InvalidHandler`` for what cannot work.
    """
    if callable(target):
        return _register(target, None, options)
    return lambda function: _register(function, target, options)


def find(kind: str) -> JobDefinition[..., Any] | None:
    """Return the handler of ``kind``, by name or alias, or None."""
    return _by_kind.get(kind)


def resolve(kind: object) -> JobDefinition[..., Any]:
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


def barred(permits: Callable[[str], bool]) -> list[str]:
    """Return the kinds, aliases included, that nobody may start whom ``permits`` does not grant their permission."""
    wanted = {kind: definition.options.permission for kind, definition in _by_kind.items()}
    granted = {permission: permits(permission) for permission in set(wanted.values()) if permission is not None}
    return sorted(kind for kind, permission in wanted.items() if not granted.get(permission or "", True))


def _suggestion(kind: object) -> str:
    near = difflib.get_close_matches(str(kind), _by_kind, n=1, cutoff=0.75)
    return _(" (did you mean %r?)") % near[0] if near else ""


def _unknown_message(kind: object) -> str:
    if callable(kind):
        name = getattr(kind, "__qualname__", kind)
        return f"{name!r} is not registered: decorate it with @jobs.job."
    return _(
        "No handler is registered for kind %(kind)r%(suggestion)s: decorate one with @jobs.job(%(kind)r) in a jobs or tasks module of an "
        "installed app, or set JOBS['ALLOW_UNKNOWN_KINDS'] where handlers live in another process."
    ) % {"kind": kind, "suggestion": _suggestion(kind)}


def _register(function: Callable[..., Any], kind: str | None, raw: dict[str, Any]) -> JobDefinition[..., Any]:
    definition = _defined(function, kind, raw)
    names = (definition.kind, *definition.options.aliases)
    for name in names:
        present = _by_kind.get(name)
        if present is not None and _path(present.function) != _path(function):
            raise InvalidHandler(
                f"Kind {name!r} is already handled by {_path(present.function)}: give {_path(function)} another kind."
            )
    _by_kind.update(dict.fromkeys(names, definition))
    return definition


def _defined(function: Callable[..., Any], kind: str | None, raw: dict[str, Any]) -> JobDefinition[..., Any]:
    _check_function(function)
    name = _path(function) if kind is None else kind
    if kind is None and ("<" in name or name.startswith("__main__.")):
        raise InvalidHandler(f"{name!r} cannot be found again by its path: give the kind, as in @job('mail.welcome').")
    try:
        check_kind(name)
    except InvalidJob as error:
        raise InvalidHandler(f"@job({name!r}): {error}") from None
    options = options_of(name, raw)
    is_async = inspect.iscoroutinefunction(function)
    if options.atomic and is_async:
        raise InvalidHandler(
            f"{name!r} is async and atomic: Django has no async transactions, so make it a plain function."
        )
    signature = _signature(name, function, takes_context=options.takes_context)
    return JobDefinition(kind=name, function=function, options=options, signature=signature, is_async=is_async)


def _check_function(function: Any) -> None:
    if not inspect.isroutine(function):
        raise InvalidHandler(
            f"{function!r} is not a function: decorate a function, or a method that needs no instance."
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidHandler(f"{_path(function)} is a generator, so that calling it would run nothing: use no yield.")


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


def _path(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
