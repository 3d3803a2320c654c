"""What is stored. ``Job`` is the unit of work; everything else explains or steers it."""

from .bulk import BulkOperation
from .cron import CronJob
from .deadletter import DeadLetter
from .event import JobEvent
from .job import Job
from .queue import Queue
from .run import JobRun
from .worker import Worker

__all__ = ["BulkOperation", "CronJob", "DeadLetter", "Job", "JobEvent", "JobRun", "Queue", "Worker"]
