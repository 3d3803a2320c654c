"""
Recurring work: turning the slots of schedules into jobs, each slot once.

Any number of workers may tick at once: a tick locks the schedules it works
on, passes over those that others have, and a slot's job is unique besides.
"""

from .healing import Healer
from .syncing import Synced, changed_by_hand, sync
from .tick import tick

__all__ = ["Healer", "Synced", "changed_by_hand", "sync", "tick"]
