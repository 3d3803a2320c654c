"""Decisions of people and of the system, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ..models import JobEvent, Queue, Worker
from .search import newest
from .wording import described, localized

Kind = JobEvent.Kind

# What no index has by queue, worker or kind is looked for among so many of the newest.
WINDOW = 10_000
ENDS = ("first", "last")

SENTENCES: Mapping[str, Any] = {
    Kind.ENQUEUED: gettext_lazy("{who} enqueued {what}"),
    Kind.COPIED: gettext_lazy("{who} copied {what}"),
    Kind.RETRIED: gettext_lazy("{who} retried {what}"),
    Kind.CANCELLED: gettext_lazy("{who} cancelled {what}"),
    Kind.CANCEL_REQUESTED: gettext_lazy("{who} asked {what} to stop"),
    Kind.RESCUED: gettext_lazy("{who} took back the lease of {what}"),
    Kind.TRIGGERED: gettext_lazy("{who} ran {what} ahead of its time"),
    Kind.POSTPONED: gettext_lazy("{who} postponed {what}"),
    Kind.REROUTED: gettext_lazy("{who} changed queue or priority of {what}"),
    Kind.DISCARDED: gettext_lazy("{who} discarded {what}"),
    Kind.QUARANTINED: gettext_lazy("{who} took {what} out of the way"),
    Kind.PAUSED: gettext_lazy("{who} paused {what}"),
    Kind.RESUMED: gettext_lazy("{who} resumed {what}"),
    Kind.DRAINED: gettext_lazy("{who} asked {what} to drain"),
    Kind.ENABLED: gettext_lazy("{who} enabled {what}"),
    Kind.DISABLED: gettext_lazy("{who} disabled {what}"),
    Kind.SKIPPED: gettext_lazy("{who} skipped slots of {what}"),
    Kind.BACKFILLED: gettext_lazy("{who} backfilled {what}"),
    Kind.BULK: gettext_lazy("{who} went through many jobs {what}"),
    Kind.PAYLOAD_VIEWED: gettext_lazy("{who} saw what is masked in {what}"),
}


def newest_events(*, using: str) -> QuerySet[JobEvent]:
    """Return the newest ``WINDOW`` events, each with its schedule: None where that has been deleted since."""
    return within_newest(JobEvent.objects.using(using).select_related("cron").order_by("-pk"))


def within_newest(events: QuerySet[JobEvent]) -> QuerySet[JobEvent]:
    """Filter to the newest ``WINDOW`` events of the table (one query)."""
    return newest(events, WINDOW)


def ids_of(model: type[Queue] | type[Worker], names: Collection[str], *, using: str) -> dict[str, int]:
    """Return the ids of the rows of these names (one query)."""
    return dict(model.objects.using(using).filter(name__in=names).values_list("name", "pk"))


def sentence(event: JobEvent, what: SafeString | str = "") -> SafeString:
    """
    Say who did what to ``what``, which may be links, or else is named by its
    columns; all else is escaped. The schedule must be with the event, as
    ``select_related`` reads it: asked for alone, one deleted since is an error.
    """
    # A newer version of this app may have written the row.
    pattern = SENTENCES.get(event.kind, _("{who} did something to {what}"))
    named = what or joint(event).join(subjects(event).values())
    return format_html(str(pattern), who=event.actor_label or _("The system"), what=named)


def joint(event: JobEvent) -> str:
    """Return what stands between the subjects: a job is one of its schedule."""
    return _(" of ") if event.job_id and event.cron_id else ", "


def subjects(event: JobEvent) -> dict[str, str]:
    """Return what the event is about, by the name of the column: a queue, a worker, a schedule, a job."""
    named = {
        "job": "" if event.job_id is None else _("job #%d") % event.job_id,
        "queue": event.queue and _("queue %s") % event.queue,
        "worker": event.worker and _("worker %s") % event.worker,
        "cron": "" if event.cron_id is None else _("schedule %s") % _schedule(event),
    }
    return {name: text for name, text in named.items() if text}


def _schedule(event: JobEvent) -> str:
    # Its schedule may have been deleted since.
    return f"#{event.cron_id}" if event.cron is None else event.cron.name


def particulars(event: JobEvent) -> Iterator[str]:
    """Yield what else there is to say: what changed, which slots, and why."""
    yield from described(event.changes)
    if count := event.slots.get("count"):
        first, last = (f"{localized(datetime.fromisoformat(event.slots[end])):%Y-%m-%d %H:%M}" for end in ENDS)
        text = ngettext("The slot of %(first)s", "%(count)d slots, from %(first)s to %(last)s", count)
        yield text % {"count": count, "first": first, "last": last}
    if event.reason:
        yield event.reason
