"""One event loop, in a thread of its own, for handlers that are ``async def``."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections

from ..context import JobContext
from .calling import call


class AsyncLoop:
    """Runs coroutines for executor threads, which wait for them. It starts with the first."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._loop: asyncio.AbstractEventLoop

    def run(self, coroutine: Coroutine[Any, Any, Any], context: JobContext) -> Any:
        """Run ``coroutine`` to its real end and return or raise what it does; a stopped ``context`` cancels it."""
        self._ensure_started()
        ended: Future[Any] = Future()
        self._loop.call_soon_threadsafe(self._start, coroutine, context, ended)
        value, interrupt = ended.result()
        if interrupt is not None:
            raise interrupt
        return value

    def stop(self) -> None:
        """End the loop; coroutines that still run are abandoned."""
        self._is_stopped = True
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(1.0)

    def _ensure_started(self) -> None:
        with self._starting:
            if self._thread is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, name="jobs-async", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._is_stopped:
            # A task of a handler's own that exits, or a handler that stops the loop, ends no other handler.
            call(self._loop.run_forever)
        self._loop.close()

    def _start(self, coroutine: Coroutine[Any, Any, Any], context: JobContext, ended: Future[Any]) -> None:
        task = self._loop.create_task(_alone(coroutine))
        context.when_stopped(lambda: self._loop.call_soon_threadsafe(task.cancel))
        task.add_done_callback(_handing_over(ended))


async def _alone(coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """Give the coroutine a thread of its own for sync code, so that its connections are its own too."""
    async with ThreadSensitiveContext():
        try:
            return await coroutine, None
        except (KeyboardInterrupt, SystemExit) as interrupt:
            # asyncio would let these end the loop, and all other handlers with it.
            return None, interrupt
        finally:
            await sync_to_async(connections.close_all)()


def _handing_over(ended: Future[Any]) -> Callable[[asyncio.Task[Any]], None]:
    def hand_over(task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            ended.set_result((None, asyncio.CancelledError()))
        elif (error := task.exception()) is not None:
            ended.set_result((None, error))
        else:
            ended.set_result(task.result())

    return hand_over
