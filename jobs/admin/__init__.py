"""
The admin: it shows what is stored, and hands what people do on to ``operations``.

Only Django's own autodiscovery imports this package, so that the app works
without ``django.contrib.admin``. A site with an ``AdminSite`` of its own
registers the classes below there.
"""

from .bulkoperation import BulkOperationAdmin
from .cronjob import CronJobAdmin
from .deadletter import DeadLetterAdmin
from .event import JobEventAdmin
from .job import JobAdmin
from .queue import QueueAdmin
from .run import JobRunAdmin
from .worker import WorkerAdmin

__all__ = [
    "BulkOperationAdmin",
    "CronJobAdmin",
    "DeadLetterAdmin",
    "JobAdmin",
    "JobEventAdmin",
    "JobRunAdmin",
    "QueueAdmin",
    "WorkerAdmin",
]
