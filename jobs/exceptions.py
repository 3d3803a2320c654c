"""Everything `jobs` raises, and the four exceptions a handler raises to say how its run ends."""

from __future__ import annotations

from datetime import timedelta

from django.core.exceptions import ImproperlyConfigured

from .translating import gettext_noop

Duration = float | timedelta


class JobsError(Exception):
    """The job scheduler could not do what was asked."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class InvalidJob(JobsError, ValueError):
    """The job was refused and nothing was written: a field has a value that cannot be stored or run."""


class UnknownKind(InvalidJob):
    """No handler is registered for this kind."""


class DuplicateJob(JobsError):
    """A live job already holds this unique key."""

    def __init__(self, message: str = "", *, job_id: int | None = None) -> None:
        super().__init__(message)
        self.job_id = job_id


class InvalidSchedule(JobsError, ValueError):
    """The schedule was refused: what is asked does not say when to run."""


class InvalidCron(InvalidSchedule):
    """The cron expression is not understood, or would never run."""


class InvalidInterval(InvalidSchedule):
    """The interval is not a whole number of seconds within bounds."""


class InvalidZone(InvalidSchedule):
    """There is no time zone of this name."""


class TooSlow(JobsError):
    """The database needed longer for this than a page may take: ask for less."""


class InvalidHandler(JobsError, ImproperlyConfigured):
    """The function cannot be registered as a handler."""


class InvalidSettings(JobsError, ImproperlyConfigured):
    """The JOBS setting has a key or a value that is not understood."""


class RunStopped(JobsError):
    """The handler was told to stop; let this exception pass."""


class LeaseLost(RunStopped):
    """The lease is gone: another worker may have the job, and nothing this run does will be recorded."""


class TimedOut(RunStopped):
    """The run has used up its timeout."""


class CancelRequested(RunStopped):
    """Somebody asked for this job to be cancelled."""


class WorkerStopping(RunStopped):
    """The worker is shutting down and its grace is over; the job is handed back and will run again."""


class Verb(Exception):
    """Base of what a handler raises to end its run in a way other than success or failure."""


class Retry(Verb):
    """Fail this attempt and try again ``after`` seconds (a number or timedelta) instead of the stored backoff."""

    def __init__(
        self, reason: str = gettext_noop("The handler asked for a retry."), *, after: Duration | None = None
    ) -> None:
        super().__init__(reason)
        self.after = after


class Snooze(Verb):
    """Run again in ``seconds`` (a number or timedelta, 0 to 366 days) without spending an attempt."""

    def __init__(self, seconds: Duration, reason: str = "") -> None:
        super().__init__(reason)
        self.seconds = seconds


class Discard(Verb):
    """Give up now: the job goes to dead, whatever attempts are left."""

    def __init__(self, reason: str = gettext_noop("The handler discarded the job.")) -> None:
        super().__init__(reason)


class Cancel(Verb):
    """Cancel this job from inside its handler: there is nothing left to do, and nobody needs to look."""

    def __init__(self, reason: str = gettext_noop("The handler cancelled the job.")) -> None:
        super().__init__(reason)
