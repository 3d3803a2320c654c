"""Registering handlers, finding them, and what a definition can do."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from jobs import Backoff, JobContext, JobDefinition, JobSpec, job, registry
from jobs.exceptions import InvalidHandler, InvalidJob, UnknownKind
from jobs.models import Job
from tests.registering import own_registry


@pytest.fixture(autouse=True)
def forget_handlers() -> Iterator[None]:
    with own_registry():
        yield


@job
def bare(number: int = 1) -> int:
    return number + 1


@job()
def with_brackets() -> None: ...


@job(takes_context=True)
def with_context(ctx: JobContext, number: int, *, text: str = "") -> str:
    return f"{ctx}{number}{text}"


@job("tests.later")
async def later(number: int) -> None: ...


def plain() -> None: ...


def test_the_kind_is_the_dotted_path_by_default() -> None:
    assert bare.kind == "tests.test_registry.bare"
    assert with_brackets.kind == "tests.test_registry.with_brackets"


def test_a_definition_is_found_by_its_kind_and_is_itself() -> None:
    named = job("mail.welcome")(plain)

    assert registry.find("mail.welcome") is named
    assert registry.resolve("mail.welcome") is named
    assert registry.resolve(named) is named


def test_calling_a_definition_calls_the_function() -> None:
    assert bare(4) == 5
    assert with_context("ctx", 1, text="!") == "ctx1!"


def test_async_functions_are_told_apart() -> None:
    assert later.is_async
    assert not bare.is_async


def test_a_definition_is_found_by_its_aliases() -> None:
    new = job("new", aliases=["old", "older"])(plain)

    assert registry.find("old") is registry.find("older") is new
    assert {"new", "old", "older"} <= set(registry.kinds())
    assert registry.kinds() == sorted(registry.kinds())


def test_one_alias_may_be_given_as_text() -> None:
    assert job("new", aliases="old")(plain).options.aliases == ("old",)


def test_options_are_kept() -> None:
    definition = job(
        "all",
        queue="mail",
        priority=-5,
        max_attempts=3,
        timeout=timedelta(minutes=1),
        backoff=Backoff(base=3),
        never_retry=[KeyError, ValueError],
        atomic=True,
    )(plain)

    options = definition.options
    assert (options.queue, options.priority, options.max_attempts, options.atomic) == ("mail", -5, 3, True)
    assert (options.timeout, options.backoff) == (timedelta(minutes=1), Backoff(base=3))
    assert options.never_retry == (KeyError, ValueError)


def test_one_exception_that_never_retries_needs_no_list() -> None:
    assert job("one", never_retry=KeyError)(plain).options.never_retry == (KeyError,)


def test_a_backoff_function_is_told_apart_from_a_backoff() -> None:
    assert job("function", backoff=lambda attempt, error: 5)(plain).backoff_function is not None
    assert job("seconds", backoff=5)(plain).backoff_function is None
    assert job("none")(plain).backoff_function is None


def test_the_same_function_may_be_registered_again() -> None:
    job("mail")(plain)

    again = job("mail", queue="mail")(plain)

    assert registry.find("mail") is again


@pytest.mark.parametrize(
    "names", [pytest.param(("mail", {}), id="kind"), pytest.param(("other", {"aliases": ["mail"]}), id="alias")]
)
def test_a_kind_has_one_handler(names: tuple[str, dict[str, Any]]) -> None:
    first = job("mail")(plain)
    kind, options = names

    with pytest.raises(
        InvalidHandler, match=r"Kind 'mail' is already handled by tests.test_registry.plain: give .*another"
    ):

        @job(kind, **options)
        def rival() -> None: ...

    assert registry.find("mail") is first
    assert registry.find("other") is None


async def ticks() -> AsyncIterator[int]:
    yield 1  # pragma: no cover (refused, so never run)


def numbers() -> Iterator[int]:
    yield 1  # pragma: no cover (refused, so never run)


@pytest.mark.parametrize(
    ("decorate", "message"),
    [
        pytest.param(lambda: job(lambda: None), "<lambda>' cannot be found again by its path", id="lambda"),
        pytest.param(lambda: job(functools.partial(plain)), r"functools.partial\(.*\) is not a function", id="partial"),
        pytest.param(lambda: job(Job), "<class 'jobs.models.job.Job'> is not a function", id="class"),
        pytest.param(lambda: job("x")(5), "5 is not a function", id="not callable"),
        pytest.param(lambda: job(numbers), "tests.test_registry.numbers is a generator", id="generator"),
        pytest.param(lambda: job(ticks), "tests.test_registry.ticks is a generator", id="async generator"),
        pytest.param(lambda: job("")(plain), "kind='' is no name of a kind: use 1 to 200 printable", id="empty kind"),
        pytest.param(lambda: job("x" * 201)(plain), "is no name of a kind", id="long kind"),
        pytest.param(lambda: job("a\x00")(plain), r"kind='a\\x00' is no name of a kind", id="NUL in a kind"),
        pytest.param(lambda: job(5)(plain), "kind=5 is no name of a kind", id="number as kind"),
        pytest.param(
            lambda: job("x", retries=3)(plain),
            r"@job\('x'\): there is no option 'retries': the options are queue, priority, max_attempts",
            id="unknown option",
        ),
        pytest.param(lambda: job("x", atomic=True)(later.function), "'x' is async and atomic", id="async and atomic"),
        pytest.param(
            lambda: job("x", takes_context=True)(plain), "needs the context as its first parameter", id="no context"
        ),
        pytest.param(
            lambda: job("x", takes_context=True)(lambda *, ctx: None),
            "needs the context as its first",
            id="context by keyword",
        ),
        pytest.param(lambda: job("x", queue="a,b")(plain), r"@job\('x'\): queue='a,b' is no queue name", id="queue"),
        pytest.param(lambda: job("x", queue=None)(plain), "queue=None is no queue name", id="no queue"),
        pytest.param(
            lambda: job("x", priority=101)(plain), "priority=101 is out of range: give -100 to 100", id="priority"
        ),
        pytest.param(
            lambda: job("x", max_attempts=0)(plain), "max_attempts=0 is out of range: give 1 to", id="attempts"
        ),
        pytest.param(lambda: job("x", timeout=0)(plain), "timeout=0 is out of range: give 0.001 to", id="timeout"),
        pytest.param(lambda: job("x", backoff=-1)(plain), "backoff=-1 is out of range", id="backoff"),
        pytest.param(
            lambda: job("x", never_retry="KeyError")(plain), "never_retry has 'KeyError': give exc", id="name of error"
        ),
        pytest.param(lambda: job("x", never_retry=[int])(plain), "never_retry has <class 'int'>", id="no exception"),
        pytest.param(lambda: job("x", never_retry=5)(plain), "never_retry=5 is not a list", id="no list"),
        pytest.param(lambda: job("x", aliases=[5])(plain), "kind=5 is no name of a kind", id="alias"),
        pytest.param(lambda: job("x", permission="refund")(plain), "permission='refund' is no", id="permission"),
    ],
)
def test_what_cannot_work_is_refused(decorate: Callable[[], object], message: str) -> None:
    before = registry.kinds()

    with pytest.raises(InvalidHandler, match=message):
        decorate()

    assert registry.kinds() == before


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        pytest.param(
            "nobody", r"No handler is registered for kind 'nobody': decorate one with @jobs.job\('nobody'\)", id="text"
        ),
        pytest.param(plain, "'plain' is not registered: decorate it with @jobs.job", id="function"),
        pytest.param(None, "No handler is registered for kind None", id="None"),
        pytest.param([], r"No handler is registered for kind \[\]", id="list"),
    ],
)
def test_an_unknown_kind_is_refused(kind: Any, message: str) -> None:
    with pytest.raises(UnknownKind, match=message):
        registry.resolve(kind)


def test_find_returns_none_for_an_unknown_kind() -> None:
    assert registry.find("nobody") is None


def test_a_spec_carries_the_arguments_and_the_options() -> None:
    spec = with_context.using(queue="mail").using(priority=3).spec(1, text="a")

    assert (spec.args, spec.payload, spec.queue, spec.priority) == ((1,), {"text": "a"}, "mail", 3)
    assert isinstance(spec, JobSpec)


def test_using_leaves_the_definition_alone() -> None:
    bare.using(queue="mail")

    assert bare.spec().queue is None


def test_using_lets_later_options_win() -> None:
    assert bare.using(queue="a", delay=1).using(queue="b").spec().queue == "b"


@pytest.mark.parametrize(
    ("option", "message"),
    [("retries", "retries"), ("args", "using.. takes no 'args'"), ("payload", "takes no 'payload'")],
)
def test_using_refuses_what_is_no_option(option: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        bare.using(**{option: None})


@pytest.mark.parametrize(
    ("definition", "args", "payload"),
    [
        pytest.param(bare, [], {}, id="default"),
        pytest.param(bare, [1], {}, id="positional"),
        pytest.param(bare, [], {"number": 1}, id="by name"),
        pytest.param(with_context, [1], {"text": "a"}, id="both, with context"),
    ],
)
def test_arguments_that_fit_pass(definition: JobDefinition[..., Any], args: list[Any], payload: dict[str, Any]) -> None:
    definition.check_arguments(args, payload)
    definition.check_arguments(args, payload)


@pytest.mark.parametrize(
    ("definition", "args", "payload", "message"),
    [
        pytest.param(
            bare, [1, 2], {}, "too many positional arguments. The handler takes .number: .*int", id="too many"
        ),
        pytest.param(bare, [], {"x": 1}, "got an unexpected keyword argument 'x'", id="unknown"),
        pytest.param(bare, [1], {"number": 1}, "multiple values for argument 'number'", id="twice"),
        pytest.param(
            with_context, [], {}, r"missing a required argument: 'number'. The handler takes \(number", id="missing"
        ),
        pytest.param(with_context, [1], {"ctx": 1}, "multiple values for argument 'ctx'", id="the context's own name"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    definition: JobDefinition[..., Any], args: list[Any], payload: dict[str, Any], message: str
) -> None:
    for _ in range(2):
        with pytest.raises(InvalidJob, match=f"The arguments do not fit '{definition.kind}': {message}"):
            definition.check_arguments(args, payload)


def test_a_keyword_named_like_the_context_is_refused_even_where_any_keyword_goes() -> None:
    @job("test", takes_context=True)
    def greedy(ctx: JobContext, **everything: Any) -> None: ...

    with pytest.raises(InvalidJob, match="multiple values for argument 'ctx'"):
        greedy.check_arguments([], {"ctx": 1})


def test_shapes_of_arguments_are_not_remembered_without_end() -> None:
    @job("test")
    def greedy(**everything: Any) -> None: ...

    for number in range(registry.SHAPES + 5):
        greedy.check_arguments([], {f"name_{number}": 1})

    assert len(greedy._fitting) == registry.SHAPES


@pytest.mark.django_db
def test_enqueue_makes_a_job_of_the_arguments() -> None:
    enqueued = with_context.using(queue="mail").enqueue(1, text="a")

    enqueued.refresh_from_db()
    assert (enqueued.kind, enqueued.queue) == ("tests.test_registry.with_context", "mail")
    assert (enqueued.args, enqueued.payload) == ([1], {"text": "a"})


def test_who_lacks_the_permission_of_a_kind_is_barred_from_all_its_names() -> None:
    job("refund", permission="billing.refund", aliases=["repay"])(plain)
    job("mail")(plain)

    assert registry.barred(lambda permission: False) == ["refund", "repay"]
    assert registry.barred(lambda permission: permission == "billing.refund") == []
