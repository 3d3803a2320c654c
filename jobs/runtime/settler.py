"""Writing down how runs ended, many at a time."""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import Error

from .. import leases, signals
from ..leases import Answer, Lease, Settlement
from ..outcomes import Failed, Failure, Outcome, Verdict, decide
from .execution import safe_text, tell
from .holdings import Held, Holdings
from .logs import log_of
from .ticker import Ticker

logger = log_of(__name__)

BATCH = 500
LATE_SECONDS = 1.0
BUSY_PAUSE = 0.2


@dataclass(slots=True)
class Ended:
    """A run, or a claim that never became one, waiting to be settled."""

    held: Held
    verdict: Verdict
    report: tuple[dict[str, Any] | None, str | None] = (None, None)
    at: float = field(default_factory=time.monotonic)
    in_doubt: bool = False

    def settlement(self) -> Settlement:
        started = self.held.started
        return Settlement(
            lease=self.held.lease,
            verdict=self.verdict,
            age=time.monotonic() - self.at,
            duration=None if started is None else self.at - started,
            log=self.report[1],
            progress=self.report[0],
        )


class Settler(Ticker):
    """
    Group commit: while one flush is under way the next outcomes gather, and
    nothing ever waits for more to come.
    """

    name = "settler"

    def __init__(self, holdings: Holdings, *, worker: str, **ticker: Any) -> None:
        super().__init__(**ticker)
        self._holdings = holdings
        self._worker = worker
        self._inbox: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._batch: dict[Lease, Ended] = {}
        self._busy: list[Ended] = []
        self._busy_until = 0.0
        self._oldest: float | None = None

    def submit(self, held: Held, outcome: Outcome) -> None:
        """Decide on ``outcome`` and have it written; returns at once."""
        held.is_settling = True
        self._inbox.put(ended(held, outcome))
        self.wake()

    def note_settled(self, held: Held, outcome: Outcome) -> None:
        """Let go of a job whose own transaction has settled it."""
        self._done(Ended(held, decide(outcome, held.claimed)))

    @property
    def is_behind(self) -> bool:
        """Whether the oldest outcome has waited for more than a second: nothing new may start then."""
        oldest = self._oldest
        return oldest is not None and time.monotonic() - oldest > LATE_SECONDS

    def run_once(self) -> float:
        """Settle one batch; outcomes that came meanwhile make the next turn come at once."""
        self._gather()
        if self._batch:
            self._oldest = min(one.at for one in self._batch.values())
            self._flush(list(self._batch.values()))
            self._oldest = None
        if not self._inbox.empty():
            return 0.0
        return BUSY_PAUSE if self._busy else 1.0

    def _gather(self) -> None:
        if self._busy and time.monotonic() >= self._busy_until:
            self._batch |= {one.held.lease: one for one in self._busy}
            self._busy = []
        while len(self._batch) < BATCH:
            try:
                one = self._inbox.get_nowait()
            except queue.Empty:
                return
            # At a shutdown a run may be handed back and yet end: the first word counts.
            self._batch.setdefault(one.held.lease, one)

    def _flush(self, batch: list[Ended]) -> None:
        try:
            answers = self._offered(batch)
        except Error as error:
            if not leases.is_refused(error):
                self._mark_in_doubt(batch)
                raise
            self._divide(batch, error)
            return
        for one in batch:
            self._answered(one, answers[one.held.lease])

    def _offered(self, batch: list[Ended]) -> dict[Lease, Answer]:
        """Offer these to the database; where an earlier answer was lost on the way, look whether it was a yes."""
        answers = leases.settle([one.settlement() for one in batch], using=self.using)
        for one in batch:
            if one.in_doubt and answers[one.held.lease] is Answer.LOST and self._was_written(one):
                answers[one.held.lease] = Answer.DONE
        return answers

    def _mark_in_doubt(self, batch: list[Ended]) -> None:
        for one in batch:
            one.in_doubt = True

    def _divide(self, batch: list[Ended], error: Error) -> None:
        """Halve a batch that the database refused for its data, until the bad row is alone; fail that one."""
        if len(batch) > 1:
            middle = len(batch) // 2
            self._flush(batch[:middle])
            self._flush(batch[middle:])
            return
        (bad,) = batch
        if bad.verdict.failure is not None and bad.verdict.failure.exception_class == REFUSED:
            # Not even its failure can be written. Its lease will end, and people can see why.
            logger.critical("outcome given up job=%s error=%s", bad.held.lease.job_id, safe_text(error))
            self._batch.pop(bad.held.lease, None)
            self._holdings.remove(bad.held.lease)
            return
        failure = Failure(exception_class=REFUSED, message=safe_text(error))
        logger.error("outcome refused by the database job=%s error=%s", bad.held.lease.job_id, failure.message)
        hopeless = Failed(failure=failure, is_hopeless=True)
        self._flush([replace(bad, verdict=decide(hopeless, bad.held.claimed), report=(None, ""))])

    def _answered(self, one: Ended, answer: Answer) -> None:
        lease, kind = one.held.lease, one.held.claimed.kind
        self._batch.pop(lease, None)
        if answer is Answer.BUSY:
            self._busy.append(one)
            self._busy_until = time.monotonic() + BUSY_PAUSE
            return
        if answer is Answer.DONE:
            self._done(one)
        else:
            self._holdings.remove(lease)
            self._holdings.refused += 1
            tell(signals.lease_lost, kind, job_id=lease.job_id, claim_no=lease.claim_no, worker=self._worker)

    def _done(self, one: Ended) -> None:
        lease = one.held.lease
        self._holdings.remove(lease)
        tell(
            signals.run_finished,
            one.held.claimed.kind,
            job_id=lease.job_id,
            claim_no=lease.claim_no,
            verdict=one.verdict,
        )

    def _was_written(self, one: Ended) -> bool:
        return one.verdict.run is None or leases.is_settled(one.held.lease, using=self.using)


REFUSED = "OutcomeRefused"


def ended(held: Held, outcome: Outcome) -> Ended:
    """Decide on ``outcome``, with what its handler reported."""
    report = (None, None) if held.context is None else held.context.snapshot()
    return Ended(held, decide(outcome, held.claimed), report)
