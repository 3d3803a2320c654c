"""
What people do to jobs, queues, schedules and workers, from wherever they do it.

Each is one conditional change per batch and an event that says who and why.
Rows that have moved on, or that somebody else has locked, are left alone and
counted, never waited for.
"""

from .decision import Actor
from .jobs import Report, cancel, retry, trigger
from .queues import pause, resume
from .schedules import Backfill, backfill, disable, enable, trigger_schedule
from .workers import drain

__all__ = [
    "Actor",
    "Backfill",
    "Report",
    "backfill",
    "cancel",
    "disable",
    "drain",
    "enable",
    "pause",
    "resume",
    "retry",
    "trigger",
    "trigger_schedule",
]
