"""A durable, distributed job scheduler that is a plain Django app."""

from .context import JobContext, current
from .declarations import schedule
from .exceptions import Cancel, Discard, Retry, Snooze
from .registry import JobDefinition, job
from .retry import Backoff
from .specs import JobSpec

__version__ = "0.1.0"

__all__ = [
    "Backoff",
    "Cancel",
    "Discard",
    "JobContext",
    "JobDefinition",
    "JobSpec",
    "Retry",
    "Snooze",
    "current",
    "job",
    "schedule",
]
