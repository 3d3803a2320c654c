"""Handlers that the tests run, in this process and in worker processes."""

from jobs import job


@job("noop")
def noop(*args: object, **kwargs: object) -> None:
    """Do nothing, with anything."""


@job("echo")
def echo(value: object) -> object:
    return value


@job("fail")
def fail(message: str = "boo") -> None:
    raise ValueError(message)
