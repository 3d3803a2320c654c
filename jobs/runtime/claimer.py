"""Keeping the slots supplied: claims a batch whenever there is room, and hands back what a long job blocks."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Collection, Iterable
from typing import Any

from django.db import DatabaseError, InterfaceError

from .. import clock, leases, maintenance, registry, slot_jobs
from ..conf import settings
from ..leases import Answer, Claimed
from ..maintenance import Survey
from ..models import Job, Queue, Worker
from ..outcomes import Released, Unclaimable, Unwanted
from .executor import Executors
from .holdings import Held, Holdings
from .pace import Pace
from .plan import Plan
from .settler import Settler
from .suspects import SuspectWatch
from .ticker import Ticker

STALL_SECONDS = 0.15
LOOK_SECONDS = 0.05
# A claim that found all there was is not repeated at once: it would find
# nothing, and keep the interpreter from the slots that are about to begin.
LULL_SECONDS = 0.02


class Claimer(Ticker):
    name = "claimer"

    def __init__(
        self,
        holdings: Holdings,
        executors: Executors,
        settler: Settler,
        pace: Pace,
        *,
        worker: str,
        plan: Plan,
        **ticker: Any,
    ) -> None:
        super().__init__(**ticker)
        self._holdings = holdings
        self._executors = executors
        self._settler = settler
        self._pace = pace
        self._worker = worker
        self._queues = plan.queues
        self._max_jobs = plan.max_jobs
        self._paused: Collection[str] = ()
        self._paused_read = -1e9
        self.queues_met: set[str] = set()
        self._dry = False
        self._lull_until = 0.0
        self._draining = False
        self._in_doubt = False
        self._suspects = SuspectWatch()
        self._trail = leases.Trail()

    def note_survey(self, seen: Survey) -> None:
        """Take in what the scheduler saw."""
        self._note_paused(seen.paused)
        self._suspects.note(waiting=seen.suspects)
        if seen.pending or seen.suspects:
            self.note_ready()

    def note_ready(self) -> None:
        """Look for ready jobs now, whatever the last claim found."""
        self._dry = False
        self.wake()

    def note_room(self, waiting: int) -> None:
        """Wake up if the slots could use more than the ``waiting`` jobs; called for every job, so cheap."""
        if waiting <= self._pace.ahead // 2 and not self._dry and time.monotonic() >= self._lull_until:
            self.wake()

    def drain(self) -> None:
        """Claim no more, and hand back at once what no slot has taken."""
        self._draining = True
        self.wake()

    def run_once(self) -> float:
        """Claim one batch if there is room for it."""
        self._release_strays()
        if self._draining:
            self._hand_back(self._executors.take_back())
            return LOOK_SECONDS if self._executors.waiting else settings.poll_seconds
        self._hand_back_stalled()
        if self._settler.is_behind or self._suspects.is_alone(self._holdings):
            return LOOK_SECONDS
        if self._suspects.wants_the_worker(self._holdings) and not self._claim_suspect():
            return LOOK_SECONDS
        return self._claim()

    def _claim(self) -> float:
        slots, ahead = self._room()
        if self._dry or slots + ahead <= 0:
            return LOOK_SECONDS if self._executors.waiting else self._poll_seconds()
        sent = time.monotonic()
        self._in_doubt = True
        # Without a slot to give, stranded jobs are passed over, so nothing given does not mean nothing there.
        # Before the claim, which may be too early for what is announced during it.
        self._dry = slots > 0
        now, later = leases.claim(
            self._worker,
            self._queues,
            slots=slots,
            ahead=ahead,
            paused=self._paused_queues(),
            trail=self._trail,
            lease_seconds=settings.lease_seconds,
            using=self.using,
        )
        self._in_doubt = False
        if now:
            self._dry = False
        found = [*now, *later]
        if len(found) < slots + ahead:
            self._lull_until = time.monotonic() + LULL_SECONDS
        self._hand_out(found, sent)
        if len(found) == slots + ahead:
            return 0.0
        return LULL_SECONDS if found else self._poll_seconds()

    def _room(self) -> tuple[int, int]:
        """Return how many jobs could start now, and how many more are worth having ahead."""
        waiting = self._executors.waiting
        free = self._executors.concurrency - self._holdings.running - self._holdings.unbegun
        most = self._pace.ahead
        # Whole batches: topping up by a few at each turn would cost a transaction for each.
        ahead = most - waiting if waiting <= most // 2 else 0
        left = sys.maxsize if self._max_jobs is None else self._max_jobs - self._holdings.spoken_for
        slots = max(0, min(free, left))
        return slots, max(0, min(ahead if free <= 0 else ahead - free, left - slots))

    def _hand_out(self, claimed: list[Claimed], sent: float) -> None:
        held = self._holdings.add(claimed, claimed_at=sent, lease_seconds=settings.lease_seconds)
        unwanted = self._unwanted(held)
        # First of all, since what is held and not handed out would be renewed for ever.
        self._executors.put([one for one in held if registry.find(one.claimed.kind) and one not in unwanted])
        for one in unwanted:
            self._settler.submit(one, Unwanted())
        self.queues_met |= {one.queue for one in claimed}
        unknown = [one for one in held if not registry.find(one.claimed.kind) and one not in unwanted]
        if unknown:
            self._refuse(unknown)

    def _unwanted(self, held: list[Held]) -> list[Held]:
        """Return the slots, on their first claim, whose schedule has been disabled or deleted."""
        of_slots = [one for one in held if one.claimed.cron_id is not None and one.claimed.attempt == 1]
        if not of_slots:
            return []
        try:
            ids = slot_jobs.unwanted([one.lease.job_id for one in of_slots], using=self.using)
        except (DatabaseError, InterfaceError):
            # Held jobs must go on to a slot; the next statement meets the outage too.
            return []
        return [one for one in of_slots if one.lease.job_id in ids]

    def _refuse(self, unknown: list[Held]) -> None:
        """
        Give back jobs of kinds this process has no handler for; give up those that nobody has had for too long.

        The rest of such a kind is put off too, or a thousand of them would be
        claimed by fours before the first job of a known kind.
        """
        hopeless: set[int] = set()
        try:
            hopeless = self._hopeless(unknown)
            maintenance.put_off({held.claimed.kind for held in unknown}, using=self.using)
        finally:
            for held in unknown:
                given_up = held.lease.job_id in hopeless
                self._settler.submit(held, Unclaimable(kind=held.claimed.kind, given_up=given_up))

    def _hopeless(self, unknown: list[Held]) -> set[int]:
        old = Job.objects.using(self.using).filter(
            pk__in=[held.lease.job_id for held in unknown],
            unknown_since__lt=clock.in_seconds(-settings.unknown_kind_grace_seconds),
        )
        lists = Worker.objects.using(self.using).live().values_list("kinds", flat=True)
        listed = {kind for kinds in lists for kind in kinds}
        return set(old.exclude(kind__in=listed).values_list("pk", flat=True))

    def _claim_suspect(self) -> bool:
        """Claim one job that workers died of, alone; say whether ordinary claims may go on."""
        if len(self._holdings):
            if not self._is_for_this_worker():
                self._suspects.claimed([])
                return True
            self._hand_back(self._executors.take_back())
            return False
        sent = time.monotonic()
        self._in_doubt = True
        claimed = leases.claim_suspect(
            self._worker,
            self._queues,
            paused=self._paused_queues(),
            lease_seconds=settings.lease_seconds,
            using=self.using,
        )
        self._in_doubt = False
        self._suspects.claimed([one.lease for one in claimed])
        self._hand_out(claimed, sent)
        return not claimed

    def _is_for_this_worker(self) -> bool:
        """Whether the suspect that the survey saw is in a queue served here, before slots are emptied for it."""
        return leases.suspects(self._queues, paused=self._paused_queues(), using=self.using).exists()

    def _hand_back_stalled(self) -> None:
        stalled = time.monotonic() - self._executors.last_taken > STALL_SECONDS
        if stalled and self._executors.waiting and self._holdings.running >= self._executors.concurrency:
            self._pace.reset()
            self._hand_back(self._executors.take_back())

    def _hand_back(self, held: list[Held]) -> None:
        for one in held:
            self._settler.submit(one, Released(started=False))

    def _release_strays(self) -> None:
        """After an error around COMMIT, release what the database gave this worker and this worker does not know of."""
        if not self._in_doubt:
            return
        strays = leases.stray_leases(self._worker, self._holdings.leases(), using=self.using)
        answers = leases.release(strays, started=False, using=self.using)
        self._in_doubt = Answer.BUSY in answers.values()

    def _paused_queues(self) -> Collection[str]:
        # The scheduler sees to it, unless it is new or kept busy.
        if time.monotonic() - self._paused_read > 2 * settings.poll_seconds:
            self._note_paused(Queue.objects.using(self.using).paused().values_list("name", flat=True))
        return self._paused

    def _note_paused(self, names: Iterable[str]) -> None:
        self._paused, self._paused_read = frozenset(names), time.monotonic()

    def _poll_seconds(self) -> float:
        return settings.poll_seconds * random.uniform(0.9, 1.1)  # noqa: S311
