"""What people are shown: every read that the admin and the command line share. Nothing here changes a row."""

from .counts import Count, counts_by_state
from .data import NAMES, Document, documents
from .events import ids_of, joint, particulars, sentence, subjects, within_newest
from .excerpts import LARGE_COLUMNS, Excerpt, excerpt
from .explanation import explain
from .history import Moment, duration, texts_of_run, timeline, tone
from .keyset import beyond, claim_place, place_of
from .limits import patience
from .masking import masked, masked_args
from .overview import paused_queues, troubled_schedules
from .progress import Progress
from .queue_page import QueueView
from .queue_page import view as view_of_queue
from .queues import Load, Waiting, loads
from .search import as_id, found, newest
from .signs import Badge, ShownState, badges, in_shown_state, shown_state, with_signs
from .tracebacks import Part, folded
from .workers import Roll, counts_by_roll, held_jobs, on_roll, recent_runs, running_jobs, with_ages

__all__ = [
    "LARGE_COLUMNS",
    "NAMES",
    "Badge",
    "Count",
    "Document",
    "Excerpt",
    "Load",
    "Moment",
    "Part",
    "Progress",
    "QueueView",
    "Roll",
    "ShownState",
    "Waiting",
    "as_id",
    "badges",
    "beyond",
    "claim_place",
    "counts_by_roll",
    "counts_by_state",
    "documents",
    "duration",
    "excerpt",
    "explain",
    "folded",
    "found",
    "held_jobs",
    "ids_of",
    "in_shown_state",
    "joint",
    "loads",
    "masked",
    "masked_args",
    "newest",
    "on_roll",
    "particulars",
    "patience",
    "paused_queues",
    "place_of",
    "recent_runs",
    "running_jobs",
    "sentence",
    "shown_state",
    "subjects",
    "texts_of_run",
    "timeline",
    "tone",
    "troubled_schedules",
    "view_of_queue",
    "with_ages",
    "with_signs",
    "within_newest",
]
