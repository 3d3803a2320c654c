"""What a site can listen to, and the receivers that word the log lines."""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

logger = logging.getLogger("jobs")

# Sent in worker processes, by send_robust: a receiver that fails is logged and
# harms nobody. ``sender`` is the kind of the job, or the name of the worker.
worker_started = Signal()  # worker
worker_stopped = Signal()  # worker, reason
run_started = Signal()  # context (a JobContext), in the thread that runs the handler
run_finished = Signal()  # job_id, claim_no, verdict (after it is committed)
lease_lost = Signal()  # job_id, claim_no, worker: a result was refused, or a renewal came too late
job_rescued = Signal()  # job_id, claim_no, worker (that lost it), verdict
jobs_pruned = Signal()  # name (of the retention key), count
queue_resumed = Signal()  # queue


def log_worker_started(sender: str, **_: Any) -> None:
    logger.info("worker started worker=%s", sender)


def log_worker_stopped(sender: str, *, reason: str, **_: Any) -> None:
    logger.info("worker stopped worker=%s reason=%s", sender, reason)


def log_run_finished(sender: str, *, job_id: int, claim_no: int, verdict: Any, **_: Any) -> None:
    move = verdict.move.name
    if move == "die":
        logger.error("job dead job=%s kind=%s claim=%s error=%s", job_id, sender, claim_no, verdict.error)
    elif move == "back_off":
        logger.warning(
            "job failed job=%s kind=%s claim=%s retry_in=%.1fs error=%s",
            job_id,
            sender,
            claim_no,
            verdict.delay,
            verdict.error,
        )
    else:
        logger.info("job %s job=%s kind=%s claim=%s", verdict.run or verdict.move.target, job_id, sender, claim_no)


def log_lease_lost(sender: str, *, job_id: int, claim_no: int, worker: str, **_: Any) -> None:
    logger.warning("lease lost job=%s kind=%s claim=%s worker=%s", job_id, sender, claim_no, worker)


def log_job_rescued(sender: str, *, job_id: int, claim_no: int, worker: str, verdict: Any, **_: Any) -> None:
    logger.warning(
        "job rescued job=%s kind=%s claim=%s from=%s now=%s", job_id, sender, claim_no, worker, verdict.move.target
    )


def log_jobs_pruned(sender: str, *, count: int, **_: Any) -> None:
    logger.info("pruned what=%s rows=%s", sender, count)


def log_queue_resumed(sender: str, **_: Any) -> None:
    logger.info("queue resumed queue=%s", sender)


worker_started.connect(log_worker_started, dispatch_uid="jobs.log")
worker_stopped.connect(log_worker_stopped, dispatch_uid="jobs.log")
run_finished.connect(log_run_finished, dispatch_uid="jobs.log")
lease_lost.connect(log_lease_lost, dispatch_uid="jobs.log")
job_rescued.connect(log_job_rescued, dispatch_uid="jobs.log")
jobs_pruned.connect(log_jobs_pruned, dispatch_uid="jobs.log")
queue_resumed.connect(log_queue_resumed, dispatch_uid="jobs.log")
