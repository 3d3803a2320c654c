"""The jobs that slots become."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from django.db import connections
from django.db.models import Exists, OuterRef

from . import clock, enqueueing
from .admission import Candidate, admit, moment_text
from .models import CronJob, Job, JobEvent, JobRun
from .slots import offset
from .specs import JobSpec
from .states import LIVE

Slot = tuple[int, datetime]
MOST_CHARS = 4_000_000


def spec_of(schedule: CronJob, *, now: datetime) -> JobSpec:
    """Return the job that ``schedule`` asks for, without what is its handler's to say."""
    expires_at = None if schedule.expires_after is None else now + timedelta(seconds=schedule.expires_after)
    return JobSpec(
        schedule.kind,
        schedule.payload,
        args=schedule.args,
        queue=schedule.queue or None,
        priority=schedule.priority,
        max_attempts=schedule.max_attempts,
        timeout=schedule.timeout,
        unique_key=schedule.unique_key or None,
        expires_at=expires_at,
        metadata=schedule.metadata or None,
    )


def candidates(
    schedule: CronJob, slots: Iterable[datetime], *, now: datetime, origin: Job.Origin, using: str
) -> list[Candidate]:
    """
    Return a job for each of these slots; raise ``InvalidJob`` where there can be none.

    For slots that have come a kind without a handler here is taken: in a deploy, others may have it.
    """
    vendor = connections[using].vendor
    one = admit(spec_of(schedule, now=now), vendor=vendor, allow_unknown=origin is Job.Origin.SLOT)
    late = offset(schedule.pk, schedule.jitter)
    return [
        one.having(
            cron_id=schedule.pk,
            scheduled_for=moment_text(slot, "scheduled_for", vendor=vendor),
            run_at=moment_text(slot + late, "run_at", vendor=vendor),
            origin=origin,
        )
        for slot in slots
    ]


def materialise(wanted: Mapping[Slot, Candidate], *, using: str) -> dict[Slot, int | None]:
    """
    Insert a job for each slot that has none, and return the ids by slot; None where its unique key is held.

    The caller holds locks on the schedules, so nobody else inserts their slots meanwhile.
    """
    if not wanted:
        return {}
    before = stored_slots(wanted, using=using)
    new = [candidate for slot, candidate in wanted.items() if slot not in before]
    if not new:
        return {slot: before[slot] for slot in wanted}
    # Sorted by key, or two ticks that share keys would deadlock.
    for part in _parts(sorted(new, key=lambda candidate: candidate.unique_key or "")):
        enqueueing.insert(part, using=using)
    after = stored_slots(wanted, using=using)
    return {slot: after.get(slot) for slot in wanted}


def _parts(made: Iterable[Candidate]) -> Iterator[list[Candidate]]:
    """Divide jobs into statements of a size that the database can take, however large the payloads are."""
    part: list[Candidate] = []
    size = 0
    for one in made:
        if part and size + len(one.text) > MOST_CHARS:
            yield part
            part, size = [], 0
        part.append(one)
        size += len(one.text)
    yield part


def stored_slots(slots: Collection[Slot], *, using: str) -> dict[Slot, int]:
    """Return the jobs that there are for these slots."""
    wanted = set(slots)
    moments = [moment for _, moment in wanted]
    rows = Job.objects.using(using).filter(
        cron_id__in={cron_id for cron_id, _ in wanted},
        scheduled_for__gte=clock.at(min(moments)),
        scheduled_for__lte=clock.at(max(moments)),
    )
    found = rows.values_list("cron_id", clock.Instant("scheduled_for"), "pk")
    return {(cron_id, moment): pk for cron_id, moment, pk in found if (cron_id, moment) in wanted}


def unfinished(cron_ids: Collection[int], *, using: str) -> dict[int, list[int]]:
    """Return the live jobs of slots, by schedule; what was run by hand or backfilled does not count."""
    found: dict[int, list[int]] = {}
    if cron_ids:
        live = Job.objects.using(using).filter(cron_id__in=cron_ids, state__in=LIVE, origin=Job.Origin.SLOT)
        for cron_id, pk in live.values_list("cron_id", "pk"):
            found.setdefault(cron_id, []).append(pk)
    return found


def unwanted(job_ids: Collection[int], *, using: str) -> set[int]:
    """
    Return those of these jobs whose slot nobody wants any more: the schedule is gone or disabled.

    What has run before goes on, and so does what a person wanted to run again.
    """
    enabled = CronJob.objects.using(using).enabled().filter(pk=OuterRef("cron_id"))
    ran = JobRun.objects.using(using).filter(job_id=OuterRef("pk"))
    retried = JobEvent.objects.using(using).filter(job_id=OuterRef("pk"), kind=JobEvent.Kind.RETRIED)
    jobs = Job.objects.using(using).filter(pk__in=job_ids, origin=Job.Origin.SLOT)
    unwanted = jobs.exclude(Exists(enabled)).exclude(Exists(ran)).exclude(Exists(retried))
    return set(unwanted.values_list("pk", flat=True))
