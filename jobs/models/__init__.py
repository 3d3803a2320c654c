"""What is stored. ``Job`` is the unit of work; everything else explains or steers it."""

from .cron import CronJob
from .event import JobEvent
from .job import Job
from .queue import Queue
from .run import JobRun
from .worker import Worker

__all__ = ["CronJob", "Job", "JobEvent", "JobRun", "Queue", "Worker"]
