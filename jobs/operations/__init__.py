"""
What people do to jobs, queues, schedules and workers, from wherever they do it.

Each is one conditional change per batch and an event that says who and why.
Rows that have moved on, or that somebody else has locked, are left alone and
counted, never waited for.
"""

from . import bulk
from .batches import Report
from .decision import Actor
from .enqueueing import copy, enqueue
from .jobs import cancel, discard, retry, trigger
from .looking import note_payload_viewed
from .queues import pause, resume
from .rescheduling import postpone, reroute
from .rescuing import rescue
from .schedules import Backfill, backfill, disable, enable, trigger_schedule
from .walking import carry_out
from .workers import drain

__all__ = [
    "Actor",
    "Backfill",
    "Report",
    "backfill",
    "bulk",
    "cancel",
    "carry_out",
    "copy",
    "disable",
    "discard",
    "drain",
    "enable",
    "enqueue",
    "note_payload_viewed",
    "pause",
    "postpone",
    "reroute",
    "rescue",
    "resume",
    "retry",
    "trigger",
    "trigger_schedule",
]
