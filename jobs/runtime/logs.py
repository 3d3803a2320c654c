"""The engine's log, which no handler of the site's can turn against it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from .calling import call

if TYPE_CHECKING:
    Adapter = logging.LoggerAdapter[logging.Logger]
else:
    Adapter = logging.LoggerAdapter

# From the logger out: ``call``, the adapter, and then whoever has something to say.
CALLER = 3


class Log(Adapter):
    """Logs as its logger does. A handler that fails, as one that writes to the database that is away, harms nobody."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        call(super().log, level, msg, *args, stacklevel=CALLER, **kwargs)


def log_of(name: str) -> Log:
    """Return the log of the module of that name."""
    return Log(logging.getLogger(name), {})
