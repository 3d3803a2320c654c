"""What people are shown: every read that the admin and the command line share. Nothing here changes a row."""

from .counts import Count, counts_by_state
from .data import NAMES, Document, documents
from .deadletters import DeadGroup, DeadGroups, dead_groups, died_of
from .excerpts import LARGE_COLUMNS, Excerpt, excerpt
from .explanation import explain
from .history import Moment, duration, texts_of_run, timeline
from .keyset import beyond, place_of
from .limits import patience
from .masking import has_mask, masked, masked_args, restored
from .progress import Progress
from .schedules import SkippedSlots, SlotRun, Standing, in_standing, rule_in_words, standing, with_times
from .search import as_id, found, is_windowed, newest
from .selection import PARAMETERS, Selection, freeze, spoken
from .signatures import check_signature, signature_of
from .signs import Badge, ShownState, badges, in_shown_state, shown_state, with_signs
from .tracebacks import Part, folded
from .wording import label_of

__all__ = [
    "LARGE_COLUMNS",
    "NAMES",
    "PARAMETERS",
    "Badge",
    "Count",
    "DeadGroup",
    "DeadGroups",
    "Document",
    "Excerpt",
    "Moment",
    "Part",
    "Progress",
    "Selection",
    "ShownState",
    "SkippedSlots",
    "SlotRun",
    "Standing",
    "as_id",
    "badges",
    "beyond",
    "check_signature",
    "counts_by_state",
    "dead_groups",
    "died_of",
    "documents",
    "duration",
    "excerpt",
    "explain",
    "folded",
    "found",
    "freeze",
    "has_mask",
    "in_shown_state",
    "in_standing",
    "is_windowed",
    "label_of",
    "masked",
    "masked_args",
    "newest",
    "patience",
    "place_of",
    "restored",
    "rule_in_words",
    "shown_state",
    "signature_of",
    "spoken",
    "standing",
    "texts_of_run",
    "timeline",
    "with_signs",
    "with_times",
]
