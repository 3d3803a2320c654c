"""
What people do to jobs, queues and workers, from wherever they do it.

Each is one conditional change per batch and an event that says who and why.
Rows that have moved on, or that somebody else has locked, are left alone and
counted, never waited for.
"""

from .decision import Actor
from .jobs import Report, cancel, retry, trigger
from .looking import note_payload_viewed
from .queues import pause, resume
from .workers import drain

__all__ = ["Actor", "Report", "cancel", "drain", "note_payload_viewed", "pause", "resume", "retry", "trigger"]
