"""How states, badges, times and JSON look; everything that was stored is escaped."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import is_aware, localtime
from django.utils.translation import gettext as _

from .. import stats
from ..durations import spoken_roughly
from ..models import JobEvent, JobRun, Queue, Worker
from ..stats import Badge, Document, Excerpt, ShownState

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
TONES = {"good": "✓", "bad": "✕", "": "•"}
CONDITIONS = {
    Worker.Condition.LIVE: ("●", "good"),
    Worker.Condition.LATE: ("?", "warn"),
    Worker.Condition.DRAINING: ("⊘", "warn"),
    Worker.Condition.STOPPED: ("■", ""),
    Worker.Condition.GONE: ("!", "bad"),
}

MOST_NAMED = 10


def state(job: Any) -> SafeString:
    """Return the state and the badges of a job that came through ``stats.with_signs``."""
    shown = stats.shown_state(job)
    signs = [(*STATES[shown], shown.label), *((*BADGES[badge], badge.label) for badge in stats.badges(job))]
    return format_html_join(" ", "{}", ((sign(*parts),) for parts in signs))


def condition(worker: Any) -> SafeString:
    """Return how a worker that came through ``with_condition`` stands."""
    shown = Worker.Condition(worker.condition)
    return sign(*CONDITIONS[shown], shown.label)


def openness(row: Queue) -> SafeString:
    """Return whether a queue is open."""
    return sign("▷", "good", _("Open")) if row.paused_at is None else sign("‖", "warn", _("Paused"))


def queue(row: Queue) -> SafeString:
    """Return whether a queue is open, or else who paused it and why."""
    if row.paused_at is None:
        return openness(row)
    said = ": ".join(part for part in (row.paused_by or _("the system"), row.pause_reason) if part)
    return format_html('{} <span class="jobs-said">{}</span>', openness(row), said)


def bar(worker: Worker) -> SafeString:
    """Return how many of its slots a worker uses, as a bar with the figures beside it."""
    words = _("%(running)d of %(most)d") % {"running": worker.running, "most": worker.concurrency}
    return format_html(
        '<span class="jobs-bar"><meter min="0" max="{}" value="{}" aria-hidden="true"></meter> {}</span>',
        worker.concurrency,
        min(worker.running, worker.concurrency),
        words,
    )


def version(worker: Any) -> SafeString | str:
    """Return the version of a worker that came through ``stats.with_ages``, marked if newer workers have another."""
    newest = worker.newest_version
    if newest is None or worker.version == newest:
        return str(worker.version)
    why = _("The live worker that started last has %s.") % newest
    return format_html('<span class="jobs-sign jobs-warn" title="{}">{} !</span>', why, worker.version)


def outcome(run: JobRun) -> SafeString:
    """Return how a run ended."""
    tone = stats.tone(run)
    return sign(TONES[tone], tone, run.get_outcome_display())


def enumeration(heading: Any, names: list[str]) -> str:
    """Return a line that names the first few of what there is, and how many more there are."""
    more = [_("and %d more") % (len(names) - MOST_NAMED)] if len(names) > MOST_NAMED else []
    return f"{heading} {', '.join([*names[:MOST_NAMED], *more])}"


def event(row: JobEvent, what: SafeString | str = "") -> dict[str, Any]:
    """Return a decision as a line of a list."""
    return {"at": moment(row.at), "sentence": stats.sentence(row, what), "more": " · ".join(stats.particulars(row))}


def age(length: timedelta | None) -> SafeString | str:
    return "-" if length is None else unwrapped(_("%(length)s ago") % {"length": spoken_roughly(length)})


def unwrapped(text: str) -> SafeString:
    return format_html('<span class="jobs-nowrap">{}</span>', text)


def sign(glyph: str, tone: str, word: Any) -> SafeString:
    return format_html(
        '<span class="jobs-sign jobs-{}"><span aria-hidden="true">{}</span> {}</span>', tone or "quiet", glyph, word
    )


def pretty(document: Document) -> SafeString:
    """Return JSON as people read it, and how much of it is missing."""
    text = json.dumps(document.value, indent=2, ensure_ascii=False)
    return render_to_string(
        "admin/jobs/_text.html", {"text": text, "chars": document.chars if document.is_cut else None}
    )


def block(excerpt: Excerpt) -> SafeString:
    """Return text with its line breaks, and how much of it is missing; nothing of what is empty."""
    if not excerpt:
        return SafeString("")
    return render_to_string(
        "admin/jobs/_text.html", {"text": excerpt.text, "chars": excerpt.chars if excerpt.missing else None}
    )


def traceback(excerpt: Excerpt) -> SafeString:
    """Return a traceback with the frames of libraries folded; nothing where there is none."""
    if not excerpt:
        return SafeString("")
    return render_to_string("admin/jobs/_traceback.html", {"parts": stats.folded(excerpt.text), "excerpt": excerpt})


def moment(at: datetime | None) -> SafeString | str:
    """Return a time in the present zone, to the second, which Django's own format leaves out."""
    if at is None:
        return ""
    local = localtime(at) if is_aware(at) else at
    return format_html(
        '<time dir="ltr" datetime="{}"><span class="jobs-nowrap">{}</span> {}</time>',
        local.isoformat(timespec="seconds"),
        f"{local:%Y-%m-%d}",
        f"{local:%H:%M:%S}",
    )
