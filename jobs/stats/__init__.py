"""What people are shown: every read that the admin and the command line share. Nothing here changes a row."""

from .explanation import explain
from .history import Moment, duration, timeline
from .search import as_id, found, newest
from .signs import Badge, ShownState, badges, in_shown_state, shown_state, with_signs

__all__ = [
    "Badge",
    "Moment",
    "ShownState",
    "as_id",
    "badges",
    "duration",
    "explain",
    "found",
    "in_shown_state",
    "newest",
    "shown_state",
    "timeline",
    "with_signs",
]
