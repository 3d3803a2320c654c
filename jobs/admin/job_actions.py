"""What people do to jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy as _

from .. import operations, reports, states
from ..models import Job
from ..operations import Report
from ..reports import Sentence
from ..states import LIVE, State
from .actions import Action, Text
from .forms import DiscardForm, PostponeForm, RerouteForm

WAITING = (State.SCHEDULED, State.PENDING)


def _run(operation: Callable[..., Report], worded: Callable[[Report], Iterable[Sentence]]) -> Any:
    return lambda jobs, **values: worded(operation(jobs, **values))


def _unless_in(allowed: tuple[State, ...], why_not: Text) -> Callable[[Job], Text]:
    return lambda job: "" if job.state in allowed else why_not


def _why_not_cancel(job: Job) -> Text:
    if job.state not in LIVE:
        return _("It has ended.")
    return _("It has been asked to stop.") if job.cancel_requested_at else ""


def _why_not_rescue(job: Any) -> Text:
    if job.state != State.RUNNING:
        return _("It is not running.")
    return "" if job.is_lease_expired else _("Its lease has not expired.")


RETRY = Action(
    name="retry",
    permission="retry_job",
    label=_("Retry"),
    command=_("Retry %(rows)s"),
    hint=_("What is retried becomes pending now, with all its attempts anew."),
    run=_run(operations.retry, reports.of_retry),
    why_not=_unless_in(states.RETRY.sources, _("Only dead and cancelled jobs can be retried.")),
    asks=False,
    starts=True,
)
TRIGGER = Action(
    name="trigger",
    permission="reschedule_job",
    label=_("Run now"),
    command=_("Run %(rows)s now"),
    hint=_("What waits for its time becomes pending now."),
    run=_run(operations.trigger, reports.of_trigger),
    why_not=_unless_in(states.TRIGGER.sources, _("It does not wait for a time.")),
    asks=False,
    starts=True,
)
POSTPONE = Action(
    name="postpone",
    permission="reschedule_job",
    label=_("Postpone"),
    command=_("Postpone %(rows)s"),
    hint=_("Only what waits can be postponed. What would expire before that time is left alone."),
    run=_run(operations.postpone, reports.of_postpone),
    why_not=_unless_in(WAITING, _("It does not wait.")),
    form=PostponeForm,
)
REROUTE = Action(
    name="reroute",
    permission="reschedule_job",
    label=_("Change queue or priority"),
    command=_("Change queue or priority of %(rows)s"),
    hint=_("Only of what waits. What is left empty stays as it is."),
    run=_run(operations.reroute, reports.of_reroute),
    why_not=_unless_in(WAITING, _("It does not wait.")),
    form=RerouteForm,
    initial=lambda job: {"queue": job.queue, "priority": job.priority},
)
CANCEL = Action(
    name="cancel",
    permission="cancel_job",
    label=_("Cancel"),
    command=_("Cancel %(rows)s"),
    hint=_(
        "What waits is cancelled now. What runs is asked to stop: its handler has to obey, "
        "and if it is done first, it has succeeded."
    ),
    run=_run(operations.cancel, reports.of_cancel),
    why_not=_why_not_cancel,
    is_danger=True,
)
# The same, as it is said of a job that runs.
STOP = replace(
    CANCEL,
    label=_("Ask to stop"),
    command=_("Ask %(rows)s to stop"),
    hint=_("Its handler has to obey. If it is done first, it has succeeded."),
)
RESCUE = Action(
    name="rescue",
    permission="rescue_job",
    label=_("Take back the lease"),
    command=_("Take back the lease of %(rows)s"),
    hint=_(
        "Only where the lease has expired. The job is pending again, or dead if that was its last attempt; "
        "a live worker does the same by itself."
    ),
    warning=_("If the worker still lives, its run goes on beside the next one until it notices: the job runs twice."),
    run=_run(operations.rescue, reports.of_rescue),
    why_not=_why_not_rescue,
    is_danger=True,
    starts=True,
)
DISCARD = Action(
    name="discard",
    permission="discard_job",
    label=_("Discard"),
    command=_("Discard %(rows)s"),
    hint=_(
        "What is discarded is cancelled, so that nobody needs to look at it again. "
        "It can still be retried until it is deleted."
    ),
    run=_run(operations.discard, reports.of_discard),
    why_not=_unless_in(states.DISCARD.sources, _("Only dead jobs can be discarded.")),
    form=DiscardForm,
    is_danger=True,
)
ACTIONS = (RETRY, TRIGGER, POSTPONE, REROUTE, CANCEL, RESCUE, DISCARD)
