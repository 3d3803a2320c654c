"""Calling a handler, and turning whatever comes of it into an outcome."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable
from typing import Any

from django.dispatch import Signal

from .. import exceptions, payload
from ..conf import settings
from ..context import JobContext, enter, leave
from ..exceptions import InvalidJob, RunStopped
from ..outcomes import Discarded, Failed, Failure, Outcome, Released, Snoozed, Stopped, Succeeded
from ..registry import JobDefinition
from ..retry import MAX_DELAY_SECONDS, seconds
from .calling import call
from .logs import log_of

logger = log_of(__name__)


def tell(signal: Signal, sender: str, **facts: Any) -> None:
    """Send a signal; a receiver that fails, in whatever way, is logged and harms nobody."""
    sent = call(signal.send_robust, sender, **facts)
    if sent.error is not None:
        logger.error("signal receiver failed error=%s", safe_text(sent.error))


def run(definition: JobDefinition[..., Any], body: Callable[[], Any], context: JobContext) -> Outcome:
    """Call ``body`` with ``context`` current and return the outcome; never raises."""
    token, process = enter(context), os.getpid()
    ended = call(body)
    leave(token)
    if os.getpid() != process:
        # A child that the handler forked came back here, as by sys.exit(): what the worker holds is not the child's.
        os._exit(_exit_code(ended.error))
    if ended.error is None:
        return succeeded(ended.value)
    return outcome_of(ended.error, definition, context)


def _exit_code(error: BaseException | None) -> int:
    code = error.code if isinstance(error, SystemExit) else error
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    return 1


def succeeded(value: Any) -> Outcome:
    """Return the outcome of a handler that returned ``value``; one that JSON cannot hold fails without retry."""
    if value is None:
        return Succeeded(None)
    stored = call(payload.storable_result, value, max_bytes=settings.result_max_bytes)
    if stored.error is None:
        return Succeeded(stored.value)
    message = f"The handler returned a {type(value).__name__} that JSON cannot hold: {safe_text(stored.error)}"
    return Failed(failure=Failure(exception_class="UnstorableResult", message=message), is_hopeless=True)


def outcome_of(error: BaseException, definition: JobDefinition[..., Any], context: JobContext) -> Outcome:
    """Say what an exception out of a handler means for its job."""
    match error:
        case asyncio.CancelledError() if context.stop_reason is not None:
            return _stopped(context.stop_reason)
        case RunStopped():
            return _stopped(error)
        case exceptions.Snooze():
            return _snoozed(error)
        case exceptions.Discard():
            return Discarded(safe_text(error))
        case exceptions.Cancel():
            return Stopped(safe_text(error))
    failure = describe(error)
    if isinstance(error, definition.options.never_retry):
        return Failed(failure=failure, is_hopeless=True)
    return Failed(failure=failure, delay=_delay(error, definition, context))


def describe(error: BaseException) -> Failure:
    """Return an exception as storable text, whatever its methods do."""
    formatted = call(_formatted, error)
    text = (
        formatted.value
        if formatted.error is None
        else f"(the traceback could not be formatted: {type(formatted.error).__name__}: {safe_text(formatted.error):.200})"
    )
    most = settings.error_max_chars
    return Failure(
        exception_class=payload.storable_text(type(error).__name__, most=200),
        message=safe_text(error),
        traceback=payload.storable_text(text, most=most),
    )


def safe_text(error: object) -> str:
    """Return ``str(error)``, or a note where that fails, cut and with bad characters escaped."""
    # Joined, so that a subclass of str with methods of its own becomes a plain one.
    text = call(lambda: "".join([str(error)]))
    if text.error is not None or not isinstance(text.value, str):
        return f"<unprintable {type(error).__name__}>"
    return payload.storable_text(text.value, most=settings.error_max_chars)


def _formatted(error: BaseException) -> str:
    frames = traceback.TracebackException(type(error), error, error.__traceback__, limit=-100, compact=True)
    return "".join(frames.format())


def _stopped(reason: BaseException) -> Outcome:
    if isinstance(reason, exceptions.TimedOut):
        return Failed(failure=describe(reason), timed_out=True)
    if isinstance(reason, exceptions.CancelRequested):
        return Stopped(safe_text(reason))
    # A lost lease too: the fence refuses this, unless nobody took the job meanwhile.
    return Released(started=True)


def _snoozed(error: exceptions.Snooze) -> Outcome:
    waited = call(seconds, getattr(error, "seconds", None), "Snooze", most=MAX_DELAY_SECONDS)
    if waited.error is None:
        return Snoozed(waited.value, safe_text(error))
    return Failed(failure=describe(waited.error), is_hopeless=True)


def _delay(error: BaseException, definition: JobDefinition[..., Any], context: JobContext) -> float | None:
    """Return what the exception or the handler's own backoff function says; None leaves it to the stored backoff."""
    after = getattr(error, "after", None) if isinstance(error, exceptions.Retry) else None
    if after is not None:
        chosen = call(seconds, after, "Retry after")
    elif definition.backoff_function is not None:
        chosen = call(_asked, definition.backoff_function, context.attempt, error)
    else:
        return None
    if chosen.error is not None:
        logger.error("backoff failed job=%s kind=%s error=%s", context.job_id, context.kind, safe_text(chosen.error))
        return None
    return float(chosen.value)


def _asked(function: Callable[..., Any], attempt: int, error: BaseException) -> float:
    answer = function(attempt, error)
    if answer is None:
        raise InvalidJob("The backoff function returned None: return seconds or a timedelta.")
    return seconds(answer, "backoff")
