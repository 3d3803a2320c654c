"""The next runs of a schedule, as somebody who is about to save it wants to see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import pairwise

from django.utils.translation import gettext

from .timetables import CronRule, Timetable, not_before
from .zones import in_utc, zone_named


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A run to come, in UTC and on the clock of a zone; ``note`` says how a change of the clocks touches it."""

    at: datetime
    local: datetime
    note: str = ""


def preview(rule: str | Timetable, zone: str | tzinfo, after: datetime, count: int) -> list[Occurrence]:
    """Return the first ``count`` runs of a rule, or of a cron expression, after a moment, on the clock of ``zone``."""
    zone = zone_named(zone)
    if isinstance(rule, str):
        rule = CronRule.of(rule, zone)
    return [
        Occurrence(at=slot, local=slot.astimezone(zone), note=" ".join(_notes(rule, previous, slot)))
        for previous, slot in pairwise([in_utc(after), *rule.upcoming(after, count)])
    ]


def _notes(rule: Timetable, previous: datetime, slot: datetime) -> Iterator[str]:
    if isinstance(rule, CronRule):
        yield from _skips(rule, not_before(previous, rule.starts_at), slot)
        yield from _repeats(rule, slot)


def _skips(rule: CronRule, previous: datetime, slot: datetime) -> Iterator[str]:
    for stretch in rule.stretches(previous, slot):
        first = rule.cron.first(stretch.lived, stretch.wall_start)
        last = rule.cron.last(stretch.lived, stretch.wall_start)
        if first and last and previous < stretch.start:
            yield _skip_note(rule, first, last, slot.astimezone(rule.zone))


def _skip_note(rule: CronRule, first: datetime, last: datetime, local: datetime) -> str:
    is_one, is_made_up = first == last, not rule.cron.follows_elapsed_time
    if is_one and is_made_up:
        note = gettext("%(first)s is skipped that day: runs at %(at)s.")
    elif is_made_up:
        note = gettext("%(first)s to %(last)s are skipped that day: runs once, at %(at)s.")
    elif is_one:
        note = gettext("%(first)s is skipped that day, without a run for it.")
    else:
        note = gettext("%(first)s to %(last)s are skipped that day, without runs for them.")
    return note % {"first": _on_clock(first, local), "last": _on_clock(last, local), "at": _on_clock(local, local)}


def _repeats(rule: CronRule, slot: datetime) -> Iterator[str]:
    local = slot.astimezone(rule.zone)
    if local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset():
        return
    if not rule.cron.follows_elapsed_time:
        note = gettext("%(at)s comes twice that day: runs at the first.")
    elif local.fold:
        note = gettext("%(at)s comes twice that day: this is the second.")
    else:
        note = gettext("%(at)s comes twice that day: this is the first.")
    yield note % {"at": _on_clock(local, local)}


def _on_clock(wall: datetime, local: datetime) -> str:
    """Return a wall time as read at ``local``: with its date only if that is another."""
    return f"{wall:%H:%M}" if wall.date() == local.date() else f"{wall:%Y-%m-%d %H:%M}"
