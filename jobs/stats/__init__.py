"""What people are shown: every read that the admin and the command line share. Nothing here changes a row."""

from .counts import Count, counts_by_state
from .data import NAMES, Document, documents
from .excerpts import LARGE_COLUMNS, Excerpt, excerpt
from .explanation import explain
from .history import Moment, duration, texts_of_run, timeline
from .keyset import beyond, place_of
from .limits import patience
from .masking import has_mask, masked, masked_args, restored
from .progress import Progress
from .schedules import SkippedSlots, SlotRun, Standing, in_standing, rule_in_words, standing, with_times
from .search import as_id, found, newest
from .signs import Badge, ShownState, badges, in_shown_state, shown_state, with_signs
from .tracebacks import Part, folded

__all__ = [
    "LARGE_COLUMNS",
    "NAMES",
    "Badge",
    "Count",
    "Document",
    "Excerpt",
    "Moment",
    "Part",
    "Progress",
    "ShownState",
    "SkippedSlots",
    "SlotRun",
    "Standing",
    "as_id",
    "badges",
    "beyond",
    "counts_by_state",
    "documents",
    "duration",
    "excerpt",
    "explain",
    "folded",
    "found",
    "has_mask",
    "in_shown_state",
    "in_standing",
    "masked",
    "masked_args",
    "newest",
    "patience",
    "place_of",
    "restored",
    "rule_in_words",
    "shown_state",
    "standing",
    "texts_of_run",
    "timeline",
    "with_signs",
    "with_times",
]
