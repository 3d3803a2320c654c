"""Bringing the schedules that code declares into the database, past what operators have changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, connections, transaction
from django.db.models import Q

from .. import clock, declarations, sql
from ..declarations import DECLARED, Declaration
from ..exceptions import InvalidSchedule
from ..models import CronJob, JobEvent

REMOVED = "It is no longer declared in code."
RULE = {"expression", "every"}


@dataclass(slots=True, kw_only=True)
class Synced:
    """Names by what was done; ``kept`` maps a name to the columns that an operator has changed, which stay."""

    created: list[str] = field(default_factory=list)
    updated: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    disabled: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def sync(wanted: Iterable[Declaration] | None = None, *, dry_run: bool = False, using: str) -> Synced:
    """
    Make the rows say what the code says: create, update, and disable what is declared no more.

    A column that a person has changed since it was last synced keeps what
    the person gave it. Removed ones are disabled, not deleted, and run again
    once they are declared again. ``wanted`` defaults to all declared.
    Several may sync at once; a second call finds nothing to do. Raises
    OperationalError where somebody holds one of these rows for long.
    """
    listed = declarations.declared() if wanted is None else list(wanted)
    synced = Synced()
    with transaction.atomic(using=using):
        _lock_all({declaration.name for declaration in listed}, using=using)
        for declaration in listed:
            _sync_one(declaration, synced, using=using)
        _disable_removed({declaration.name for declaration in listed}, synced, using=using)
        if dry_run:
            transaction.set_rollback(True, using=using)
    return synced


def _lock_all(names: Collection[str], *, using: str) -> None:
    """Lock what will be looked at, in the order that all others lock in."""
    if connections[using].vendor == "postgresql":
        sql.run(connections[using], sql.SYNC_PATIENCE_POSTGRESQL)
    rows = CronJob.objects.using(using).filter(Q(name__in=names) | Q(origin=CronJob.Origin.CODE))
    list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))


def _sync_one(declaration: Declaration, synced: Synced, *, using: str) -> None:
    wanted = CronJob(name=declaration.name, origin=CronJob.Origin.CODE, **declaration.values)
    try:
        wanted.check_values()
    except InvalidSchedule as error:
        synced.refused[declaration.name] = str(error)
        return
    # Only what was checked can be written as JSON, and is in the form in which the row has it.
    wanted.declared = {column: _plain(getattr(wanted, column)) for column in DECLARED}
    rows = CronJob.objects.using(using).filter(name=declaration.name)
    present = rows.first()
    if present is None:
        _insert(wanted, synced, using=using)
    elif present.origin != CronJob.Origin.CODE:
        synced.refused[declaration.name] = (
            f"Schedule {declaration.name!r} was made by a person: rename or delete that one, or rename this one."
        )
    else:
        _bring_up_to_date(present, wanted, synced, using=using)


def _insert(wanted: CronJob, synced: Synced, *, using: str) -> None:
    """Insert a schedule, unless somebody else has just inserted it: then that one stands."""
    try:
        with transaction.atomic(using=using):
            wanted.save(using=using)
    except IntegrityError as error:
        if not CronJob.objects.using(using).filter(name=wanted.name).exists():
            synced.refused[wanted.name] = str(error)
        return
    synced.created.append(wanted.name)


def _bring_up_to_date(present: CronJob, wanted: CronJob, synced: Synced, *, using: str) -> None:
    """Change the columns that still are what was declared before."""
    differing = [name for name in DECLARED if _plain(getattr(present, name)) != wanted.declared[name]]
    kept = [name for name in differing if name in _whole(changed_by_hand(present))]
    changes: dict[str, Any] = {name: getattr(wanted, name) for name in differing if name not in kept}
    if changes and (why := _contradiction(present, changes)):
        synced.refused[present.name] = f"{why} A person has changed {', '.join(kept)}."
        return
    if kept:
        synced.kept[present.name] = kept
    if changes:
        synced.updated[present.name] = list(changes)
    if changes or present.declared != wanted.declared:
        CronJob.objects.using(using).filter(pk=present.pk).update(**changes, declared=wanted.declared)


def _whole(names: Collection[str]) -> set[str]:
    """Add the other half of the rule to either of them: of the two, a schedule has one."""
    return {*names, *RULE} if RULE & set(names) else set(names)


def _contradiction(present: CronJob, changes: Mapping[str, Any]) -> str:
    """Say why a schedule cannot have these values beside those it keeps, if that is so."""
    for name, value in changes.items():
        setattr(present, name, value)
    try:
        present.check_values()
    except InvalidSchedule as error:
        return str(error)
    return ""


def changed_by_hand(schedule: CronJob) -> list[str]:
    """Return the columns of a schedule that say something else than its code did when it was last synced."""
    return [name for name in DECLARED if _plain(getattr(schedule, name)) != schedule.declared.get(name)]


def _disable_removed(names: Collection[str], synced: Synced, *, using: str) -> None:
    code = CronJob.objects.using(using).enabled().filter(origin=CronJob.Origin.CODE)
    for schedule in code.exclude(name__in=names):
        if schedule.declared.get("enabled") is False:
            # Disabled by an earlier sync, and a person has enabled it since.
            continue
        # As declared: once it is declared again, sync may enable it.
        declared = schedule.declared | {"enabled": False}
        CronJob.objects.using(using).filter(pk=schedule.pk).update(enabled=False, declared=declared)
        JobEvent.objects.using(using).create(
            at=clock.now(), kind=JobEvent.Kind.DISABLED, cron_id=schedule.pk, reason=REMOVED
        )
        synced.disabled.append(schedule.name)


def _plain(value: Any) -> Any:
    """Return a value as JSON would hold it."""
    return json.loads(json.dumps(clock.aware(value) if hasattr(value, "tzinfo") else value, cls=DjangoJSONEncoder))
