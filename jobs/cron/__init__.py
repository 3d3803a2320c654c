"""
When a schedule runs: cron expressions and intervals, and the slots they mean.

A slot is a moment at which a schedule should run. Nothing here knows the
present, the database or a job: moments come in and go out, aware, in UTC.
"""

from __future__ import annotations

from .expressions import MAX_LENGTH, validate
from .previews import Occurrence, preview
from .timetables import MAX_INTERVAL_SECONDS, CronRule, IntervalRule, Timetable, rule_for, upcoming
from .words import in_words, interval_in_words
from .zones import zone_named

__all__ = [
    "MAX_INTERVAL_SECONDS",
    "MAX_LENGTH",
    "CronRule",
    "IntervalRule",
    "Occurrence",
    "Timetable",
    "in_words",
    "interval_in_words",
    "preview",
    "rule_for",
    "upcoming",
    "validate",
    "zone_named",
]
