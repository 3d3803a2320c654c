"""The states of jobs and the badges beside them, as people see them."""

from __future__ import annotations

from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, TextChoices
from django.utils.translation import gettext_lazy

from .. import clock
from ..models import Job, Queue
from ..models.queryset import JobQuerySet
from ..states import State


class ShownState(TextChoices):
    """The states as people see them: a scheduled job that has been tried before is backing off."""

    SCHEDULED = "scheduled", State.SCHEDULED.label
    BACKING_OFF = "backing_off", gettext_lazy("Backing off")
    PENDING = "pending", State.PENDING.label
    RUNNING = "running", State.RUNNING.label
    SUCCEEDED = "succeeded", State.SUCCEEDED.label
    DEAD = "dead", State.DEAD.label
    CANCELLED = "cancelled", State.CANCELLED.label

    @property
    def stored(self) -> State:
        return State.SCHEDULED if self is ShownState.BACKING_OFF else State(self.value)

    @property
    def order(self) -> tuple[str, ...]:
        """The order in which a list of these is of most use, and in which an index has them."""
        if self.stored is State.SCHEDULED:
            return ("run_at", "pk")
        if self is ShownState.PENDING:
            return ("-priority", "run_at", "pk")
        return ("-finished_at", "-pk") if self.stored.is_final else ("-pk",)


class Badge(TextChoices):
    """What is worth knowing about a job beside its state."""

    HELD = "held", gettext_lazy("held")
    LEASE_EXPIRED = "lease_expired", gettext_lazy("lease expired")
    CANCELLING = "cancelling", gettext_lazy("cancelling")


def with_signs(jobs: JobQuerySet) -> JobQuerySet:
    """Add ``is_held`` and ``is_lease_expired``, by the database's clock, for ``badges``."""
    paused = Queue.objects.paused().filter(name=OuterRef("queue"))
    return jobs.annotate(
        is_held=ExpressionWrapper(Q(state=State.PENDING) & Exists(paused), output_field=BooleanField()),
        is_lease_expired=ExpressionWrapper(
            Q(state=State.RUNNING, lease_expires_at__lt=clock.now()), output_field=BooleanField()
        ),
    )


def badges(job: Any) -> list[Badge]:
    """Return what to show beside the state of a job that came through ``with_signs``."""
    worn = {
        Badge.HELD: job.is_held,
        Badge.LEASE_EXPIRED: job.is_lease_expired,
        Badge.CANCELLING: job.cancel_requested_at is not None,
    }
    return [badge for badge, is_worn in worn.items() if is_worn]


def shown_state(job: Job) -> ShownState:
    if job.state == State.SCHEDULED and job.attempt > 0:
        return ShownState.BACKING_OFF
    return ShownState(job.state)


def in_shown_state(jobs: JobQuerySet, shown: ShownState) -> JobQuerySet:
    """Filter by what ``shown_state`` returns, in terms that the partial indexes are known by."""
    if shown.stored.is_final:
        return jobs.filter(state=shown.stored, finished_at__isnull=False)
    if shown is ShownState.PENDING:
        # All of them, said so that both the index of those with losses and that of those without may serve.
        return jobs.pending().filter(Q(losses=0) | Q(losses__gt=0))
    if shown is ShownState.RUNNING:
        return jobs.running()
    tried = Q(attempt__gt=0)
    return jobs.scheduled().filter(tried if shown is ShownState.BACKING_OFF else ~tried)
