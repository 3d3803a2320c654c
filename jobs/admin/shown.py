"""How states, badges, times and JSON look; everything that was stored is escaped."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import is_aware, localtime

from .. import stats
from ..models import Worker
from ..stats import Badge, ShownState

MOST_CHARS = 20_000

# Glyph and tone; the word always stands beside them.
STATES = {
    ShownState.SCHEDULED: ("◷", ""),
    ShownState.BACKING_OFF: ("↻", "warn"),
    ShownState.PENDING: ("▷", ""),
    ShownState.RUNNING: ("●", "busy"),
    ShownState.SUCCEEDED: ("✓", "good"),
    ShownState.DEAD: ("✕", "bad"),
    ShownState.CANCELLED: ("⊘", ""),
}
BADGES = {Badge.HELD: ("‖", "warn"), Badge.LEASE_EXPIRED: ("!", "bad"), Badge.CANCELLING: ("⊘", "warn")}
CONDITIONS = {
    Worker.Condition.LIVE: ("●", "good"),
    Worker.Condition.LATE: ("?", "warn"),
    Worker.Condition.DRAINING: ("⊘", "warn"),
    Worker.Condition.STOPPED: ("■", ""),
    Worker.Condition.GONE: ("!", "bad"),
}


def state(job: Any) -> SafeString:
    """Return the state and the badges of a job that came through ``stats.with_signs``."""
    shown = stats.shown_state(job)
    signs = [(*STATES[shown], shown.label), *((*BADGES[badge], badge.label) for badge in stats.badges(job))]
    return format_html_join(" ", "{}", ((sign(*parts),) for parts in signs))


def condition(worker: Any) -> SafeString:
    """Return how a worker that came through ``with_condition`` stands."""
    shown = Worker.Condition(worker.condition)
    return sign(*CONDITIONS[shown], shown.label)


def sign(glyph: str, tone: str, word: Any) -> SafeString:
    return format_html(
        '<span class="jobs-sign jobs-{}"><span aria-hidden="true">{}</span> {}</span>', tone or "quiet", glyph, word
    )


def pretty(value: Any) -> SafeString:
    """Return JSON as people read it, cut where it would fill the browser."""
    return block(json.dumps(value, indent=2, ensure_ascii=False))


def block(text: str) -> SafeString:
    """Return text with its line breaks; of a long one, the beginning."""
    if len(text) > MOST_CHARS:
        text = f"{text[:MOST_CHARS]}\n… {len(text) - MOST_CHARS:,} more characters"
    return format_html('<pre class="jobs-text">{}</pre>', text)


def moment(at: datetime | None) -> SafeString | str:
    """Return a time in the present zone, to the second, which Django's own format leaves out."""
    if at is None:
        return ""
    local = localtime(at) if is_aware(at) else at
    return format_html('<span class="jobs-nowrap">{}</span> {}', f"{local:%Y-%m-%d}", f"{local:%H:%M:%S}")
