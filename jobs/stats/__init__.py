"""What people are shown: every read that the admin and the command line share. Nothing here changes a row."""

from .counts import Count, counts_by_state
from .data import NAMES, Document, documents
from .deadletters import DeadGroup, DeadGroups, dead_groups, died_of
from .events import ids_of, joint, particulars, sentence, subjects, within_newest
from .excerpts import LARGE_COLUMNS, Excerpt, excerpt
from .explanation import explain
from .exporting import EXPORTED, exported
from .history import Moment, duration, texts_of_run, timeline, tone, waited
from .keyset import beyond, claim_place, place_of
from .limits import patience
from .masking import has_mask, masked, masked_args, restored
from .notes import translated_note
from .overview import paused_queues, troubled_schedules
from .progress import Progress
from .queue_page import QueueView
from .queue_page import view as view_of_queue
from .queues import Load, Waiting, loads
from .recent import Lately, lately
from .schedules import SkippedSlots, SlotRun, Standing, in_standing, rule_in_words, standing, with_times
from .search import as_id, found, is_windowed, newest
from .selection import PARAMETERS, Selection, freeze, spoken
from .signatures import check_signature, signature_of
from .signs import Badge, ShownState, badges, in_shown_state, shown_state, with_signs
from .tracebacks import Part, folded
from .wording import label_of
from .workers import Roll, counts_by_roll, held_jobs, on_roll, recent_runs, running_jobs, with_ages

__all__ = [
    "EXPORTED",
    "LARGE_COLUMNS",
    "NAMES",
    "PARAMETERS",
    "Badge",
    "Count",
    "DeadGroup",
    "DeadGroups",
    "Document",
    "Excerpt",
    "Lately",
    "Load",
    "Moment",
    "Part",
    "Progress",
    "QueueView",
    "Roll",
    "Selection",
    "ShownState",
    "SkippedSlots",
    "SlotRun",
    "Standing",
    "Waiting",
    "as_id",
    "badges",
    "beyond",
    "check_signature",
    "claim_place",
    "counts_by_roll",
    "counts_by_state",
    "dead_groups",
    "died_of",
    "documents",
    "duration",
    "excerpt",
    "explain",
    "exported",
    "folded",
    "found",
    "freeze",
    "has_mask",
    "held_jobs",
    "ids_of",
    "in_shown_state",
    "in_standing",
    "is_windowed",
    "joint",
    "label_of",
    "lately",
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
    "restored",
    "rule_in_words",
    "running_jobs",
    "sentence",
    "shown_state",
    "signature_of",
    "spoken",
    "standing",
    "subjects",
    "texts_of_run",
    "timeline",
    "tone",
    "translated_note",
    "troubled_schedules",
    "view_of_queue",
    "waited",
    "with_ages",
    "with_signs",
    "with_times",
    "within_newest",
]
