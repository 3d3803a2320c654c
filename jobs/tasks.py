"""Our own jobs: what takes longer than a request may, in a queue of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import router

from . import operations
from .models import BulkOperation
from .operations import bulk
from .registry import job

if TYPE_CHECKING:
    from .context import JobContext


@job(bulk.KIND, queue=bulk.QUEUE, takes_context=True, timeout=timedelta(days=1), max_attempts=20)
def carry_out(ctx: JobContext, operation: int) -> None:
    """Carry out a bulk operation, from wherever it was left."""
    rows = BulkOperation.objects.using(router.db_for_write(BulkOperation)).filter(pk=operation)
    for _report in operations.carry_out(operation):
        row = rows.get()
        ctx.progress(row.looked_at, row.matched, row.get_action_display())
