"""Handlers that the tests run, in this process and in worker processes."""

import importlib
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from jobs import JobContext, job


@job("noop")
def noop(*args: object, **kwargs: object) -> None:
    """Do nothing, with anything."""


@job("echo")
def echo(value: object) -> object:
    return value


@job("fail")
def fail(message: str = "boo") -> None:
    raise ValueError(message)


@job("wait", takes_context=True)
def wait(ctx: JobContext, seconds: float) -> int:
    """Run for ``seconds``, obeying every stop; return the process that did it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ctx.check()
        time.sleep(0.01)
    return os.getpid()


@job("wait_for", takes_context=True)
def wait_for(ctx: JobContext, path: str, *, seconds: float = 0.0) -> int:
    """Run until there is such a file, and for so many ``seconds`` more, obeying every stop; return the process that did it."""
    while not os.path.exists(path):
        ctx.check()
        time.sleep(0.01)
    return wait(ctx, seconds)


@job("stay", takes_context=True)
def stay(ctx: JobContext, seconds: float) -> int:
    """Run for ``seconds``, deaf to every stop."""
    time.sleep(seconds)
    return os.getpid()


@job("kill_worker", takes_context=True)
def kill_worker(ctx: JobContext, attempts: int) -> int:
    """Kill the worker process on the first ``attempts`` attempts."""
    if ctx.attempt <= attempts:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


if module := os.environ.get("JOBS_TEST_IMPORT"):
    importlib.import_module(module)


@job("mark", takes_context=True)
def mark(ctx: JobContext, seconds: float = 0.0) -> None:
    """Leave a row of the site's own that says when this call began and ended."""
    from jobs import clock
    from tests.models import Mark

    row = Mark.objects.create(job_id=ctx.job_id, claim_no=ctx.claim_no, pid=os.getpid(), began_at=clock.now())
    # By count and not by the clock, which goes on while the process is frozen.
    for _ in range(int(seconds * 100)):
        ctx.check()
        time.sleep(0.01)
    Mark.objects.filter(pk=row.pk).update(ended_at=clock.now())


@job("deaf", takes_context=True, timeout=0.5, backoff=0)
def deaf(ctx: JobContext, seconds: float) -> int:
    """On the first claim run for ``seconds``, deaf to every stop; the end in its row is the last sign of life."""
    from jobs import clock
    from tests.models import Mark

    row = Mark.objects.create(job_id=ctx.job_id, claim_no=ctx.claim_no, pid=os.getpid(), began_at=clock.now())
    until = time.monotonic() + (seconds if ctx.claim_no == 1 else 0)
    while time.monotonic() < until:
        Mark.objects.filter(pk=row.pk).update(ended_at=clock.now())
        time.sleep(0.001)
    return os.getpid()


@job("relay")
def relay(seconds: float) -> None:
    """Have a ``mark`` run after so many seconds."""
    mark.using(delay=seconds).enqueue()


@job("linger")
def linger(seconds: float) -> None:
    """Leave a thread behind that Python would wait for at its end, for so many seconds."""
    ThreadPoolExecutor().submit(time.sleep, seconds)


@job("fork")
def fork(code: int) -> int:
    """Have a child of this process come back out of the handler; return how it ended, or -1 if it had to be killed."""
    child = os.fork()
    if child == 0:
        sys.exit(code)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1
