"""
The statements that the ORM cannot express, as constants.

Rows travel in as one JSON text and are spread out by the database, so that
a statement has the same shape for one row and for a thousand.
"""

from __future__ import annotations

from typing import Any


def fetch(connection: Any, statement: str, params: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """
    Run ``statement`` on a Django connection and return its rows, none if it has none to return.

    On PostgreSQL the parameters are bound by the server: Django's default is
    to write them into the statement, which doubles the time of a large batch.
    """
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(statement, params)
            return list(cursor.fetchall())
    from psycopg import Cursor

    connection.close_if_health_check_failed()
    connection.ensure_connection()
    wrap = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrap(Cursor(connection.connection)) as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall()) if cursor.description else []


def run(connection: Any, statement: str) -> None:
    """Run a statement that has no parameters and returns nothing."""
    with connection.cursor() as cursor:
        cursor.execute(statement)


# The conflict target is the partial unique index job_unique_key, named by its
# columns and predicate: a bare DO NOTHING would swallow any other conflict too.
ENQUEUE_POSTGRESQL = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, expires_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata, cron_id, scheduled_for, origin)
SELECT kind, args, payload, queue, priority,
       CASE WHEN run_at IS NULL AND delay IS NULL OR run_at <= STATEMENT_TIMESTAMP() THEN 'pending' ELSE 'scheduled' END,
       COALESCE(run_at, STATEMENT_TIMESTAMP()) + MAKE_INTERVAL(secs => COALESCE(delay, 0)),
       expires_at, STATEMENT_TIMESTAMP(), max_attempts,
       backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata,
       cron_id, scheduled_for, COALESCE(origin, '')
  FROM JSON_TO_RECORDSET(%(rows)s::json) AS spec (
       kind text, args jsonb, payload jsonb, queue text, priority smallint, run_at timestamptz, delay double precision,
       expires_at timestamptz, max_attempts integer, backoff_base double precision, backoff_cap double precision,
       backoff_jitter double precision, timeout double precision, unique_key text, metadata jsonb,
       cron_id bigint, scheduled_for timestamptz, origin text)
    ON CONFLICT (unique_key) WHERE state IN ('scheduled', 'pending', 'running') AND unique_key IS NOT NULL DO NOTHING
RETURNING id, unique_key, state, run_at, enqueued_at
"""

ENQUEUE_SQLITE = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, expires_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata, cron_id, scheduled_for, origin)
SELECT JSON_EXTRACT(value, '$.kind'), JSON_EXTRACT(value, '$.args'), JSON_EXTRACT(value, '$.payload'),
       JSON_EXTRACT(value, '$.queue'), JSON_EXTRACT(value, '$.priority'),
       CASE WHEN COALESCE(JSON_EXTRACT(value, '$.run_at'), '') <= STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')
             AND JSON_EXTRACT(value, '$.delay') IS NULL THEN 'pending' ELSE 'scheduled' END,
       COALESCE(JSON_EXTRACT(value, '$.run_at'),
                STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', COALESCE(JSON_EXTRACT(value, '$.delay'), 0) || ' seconds')),
       JSON_EXTRACT(value, '$.expires_at'), STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW'),
       JSON_EXTRACT(value, '$.max_attempts'), JSON_EXTRACT(value, '$.backoff_base'),
       JSON_EXTRACT(value, '$.backoff_cap'), JSON_EXTRACT(value, '$.backoff_jitter'), JSON_EXTRACT(value, '$.timeout'),
       JSON_EXTRACT(value, '$.unique_key'), JSON_EXTRACT(value, '$.metadata'),
       JSON_EXTRACT(value, '$.cron_id'), JSON_EXTRACT(value, '$.scheduled_for'),
       COALESCE(JSON_EXTRACT(value, '$.origin'), '')
  FROM JSON_EACH(%(rows)s)
 WHERE 1
    ON CONFLICT (unique_key) WHERE state IN ('scheduled', 'pending', 'running') AND unique_key IS NOT NULL DO NOTHING
RETURNING id, unique_key, state, run_at, enqueued_at
"""

ENQUEUE = {"postgresql": ENQUEUE_POSTGRESQL, "sqlite": ENQUEUE_SQLITE}

# The second half of a claim, on rows that its transaction has locked.
TAKE_POSTGRESQL = """
UPDATE jobs_job
   SET state = 'running', claim_no = claim_no + 1, attempt = attempt + 1, lease_owner = %(worker)s,
       lease_expires_at = STATEMENT_TIMESTAMP() + MAKE_INTERVAL(secs => %(lease_seconds)s),
       started_at = CASE WHEN id = ANY (%(now)s::bigint[]) THEN STATEMENT_TIMESTAMP() END
 WHERE id = ANY (%(now)s::bigint[] || %(later)s::bigint[]) AND state = 'pending'
"""

# Settling: lock what is still held under this claim (skipping rows somebody
# else has locked), write it, write its run, and return what was written.
# The fence is claim_no and a present lease, not state = 'running': with the
# state in the predicate the planner would join through the partial index of
# running jobs, which is full of dead entries while an old snapshot is open.
# The LATERAL and the one chain of CTEs keep it on the primary key: joined
# freely, "lease_expires_at IS NOT NULL" looks so rare to the planner that it
# starts from there, and pairs every row with every other. The ANY keeps the
# UPDATE on the primary key too, where a join alone would scan a small table.
SETTLE_POSTGRESQL = """
WITH offered AS MATERIALIZED (
    SELECT * FROM JSON_TO_RECORDSET(%(rows)s::json) AS offer (
        id bigint, claim_no integer, target text, final boolean, yields boolean, refund integer, delay double precision,
        result text, error text, losses smallint, stranded smallint, unknown boolean, outcome text,
        exception_class text, message text, traceback text, log text, progress jsonb,
        age double precision, duration double precision)
     ORDER BY id
), locked AS MATERIALIZED (
    SELECT offer.*, held.attempt, held.lease_owner, held.started_at, held.log AS stored_log,
           COALESCE(offer.yields AND held.is_asked, FALSE) AS is_cancelled,
           COALESCE(offer.yields AND held.is_asked, FALSE) OR offer.final AS is_final,
           STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.age) AS ended_at,
           COALESCE(STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.age + offer.duration), held.started_at) AS began_at
      FROM offered AS offer, LATERAL (
        SELECT job.attempt, job.lease_owner, job.started_at, job.log, job.cancel_requested_at IS NOT NULL AS is_asked
          FROM jobs_job AS job
         WHERE job.id = offer.id AND job.claim_no = offer.claim_no AND job.lease_expires_at IS NOT NULL
           FOR NO KEY UPDATE SKIP LOCKED
      ) AS held
), settled AS (
    UPDATE jobs_job AS job
       SET state = CASE WHEN locked.is_cancelled THEN 'cancelled' ELSE locked.target END,
           finished_at = CASE WHEN locked.is_final THEN locked.ended_at END,
           started_at = CASE WHEN locked.is_final THEN locked.began_at END,
           progress = CASE WHEN locked.is_final THEN COALESCE(locked.progress, job.progress) END,
           run_at = CASE WHEN locked.delay IS NULL OR locked.is_cancelled THEN job.run_at
                         ELSE STATEMENT_TIMESTAMP() + MAKE_INTERVAL(secs => locked.delay) END,
           attempt = job.attempt - COALESCE(locked.refund, 0),
           result = COALESCE(locked.result::jsonb, job.result),
           error = COALESCE(locked.error, job.error),
           losses = COALESCE(locked.losses, job.losses),
           stranded = job.stranded + COALESCE(locked.stranded, 0),
           unknown_since = CASE WHEN locked.unknown THEN COALESCE(job.unknown_since, STATEMENT_TIMESTAMP())
                                WHEN locked.outcome IS NULL THEN job.unknown_since END,
           lease_owner = '', lease_expires_at = NULL, cancel_requested_at = NULL, log = ''
      FROM locked
     WHERE job.id = ANY (ARRAY(SELECT id FROM locked)) AND job.id = locked.id
 RETURNING locked.*
), runs AS (
    INSERT INTO jobs_jobrun (job_id, attempt, claim_no, worker, outcome, started_at, finished_at,
                             exception_class, message, traceback, log)
    SELECT id, attempt, claim_no, lease_owner, outcome, began_at, ended_at,
           COALESCE(exception_class, ''), COALESCE(message, ''), COALESCE(traceback, ''), COALESCE(log, stored_log)
      FROM settled
     WHERE outcome IS NOT NULL
)
SELECT id, claim_no FROM settled
"""

RENEW_POSTGRESQL = """
WITH offered AS MATERIALIZED (
    SELECT * FROM JSON_TO_RECORDSET(%(rows)s::json) AS offer (
        id bigint, claim_no integer, running double precision, progress jsonb, log text)
     ORDER BY id
), locked AS MATERIALIZED (
    SELECT offer.*
      FROM offered AS offer, LATERAL (
        SELECT FROM jobs_job AS job
         WHERE job.id = offer.id AND job.claim_no = offer.claim_no AND job.lease_expires_at IS NOT NULL
           FOR NO KEY UPDATE SKIP LOCKED
      ) AS held
)
UPDATE jobs_job AS job
   SET lease_expires_at = STATEMENT_TIMESTAMP() + MAKE_INTERVAL(secs => %(lease_seconds)s),
       started_at = COALESCE(job.started_at, STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => locked.running)),
       progress = COALESCE(locked.progress, job.progress),
       log = COALESCE(locked.log, job.log)
  FROM locked
 WHERE job.id = ANY (ARRAY(SELECT id FROM locked)) AND job.id = locked.id
RETURNING job.id, job.claim_no, job.cancel_requested_at IS NOT NULL
"""

# What a tick writes on the schedules it holds. A time left out stays.
TICK_POSTGRESQL = """
UPDATE jobs_cronjob AS schedule
   SET next_run_at = COALESCE(noted.next_run_at, schedule.next_run_at),
       last_scheduled_for = COALESCE(noted.last_scheduled_for, schedule.last_scheduled_for),
       last_run_at = COALESCE(noted.last_run_at, schedule.last_run_at),
       last_job_id = COALESCE(noted.last_job_id, schedule.last_job_id),
       disabled_at = CASE WHEN noted.next_run_at IS NULL THEN schedule.disabled_at END,
       put_off_until = CASE WHEN noted.next_run_at IS NULL THEN schedule.put_off_until END,
       error = COALESCE(noted.error, schedule.error),
       waiting_for = noted.waiting_for
  FROM JSON_TO_RECORDSET(%(rows)s::json) AS noted (
       id bigint, next_run_at timestamptz, last_scheduled_for timestamptz, last_run_at timestamptz,
       last_job_id bigint, error text, waiting_for timestamptz)
 WHERE schedule.id = noted.id
RETURNING schedule.id
"""

# One row that answers for every duty of an idle worker. Each part is ordered
# as its partial index is: a bare EXISTS is free to scan the table from its
# start, past every finished job, when the statistics are old.
SURVEY_POSTGRESQL = """
SELECT (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses = 0 ORDER BY priority DESC, run_at, id LIMIT 1),
       (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses > 0 ORDER BY priority DESC, run_at, id LIMIT 1),
       (SELECT 1 FROM jobs_job WHERE state = 'running' AND lease_expires_at < STATEMENT_TIMESTAMP()
         ORDER BY lease_owner, id LIMIT 1),
       (SELECT EXTRACT(EPOCH FROM run_at - STATEMENT_TIMESTAMP())::double precision
          FROM jobs_job WHERE state = 'scheduled' ORDER BY run_at, id LIMIT 1),
       COALESCE((SELECT 0 FROM jobs_cronjob
                  WHERE enabled AND next_run_at IS NULL AND COALESCE(put_off_until <= STATEMENT_TIMESTAMP(), TRUE)
                  ORDER BY id LIMIT 1),
                (SELECT EXTRACT(EPOCH FROM next_run_at - STATEMENT_TIMESTAMP())::double precision
                   FROM jobs_cronjob WHERE enabled AND COALESCE(put_off_until <= STATEMENT_TIMESTAMP(), TRUE)
                  ORDER BY next_run_at, id LIMIT 1)),
       (SELECT 1 FROM jobs_cronjob WHERE waiting_for IS NOT NULL ORDER BY id LIMIT 1)
"""

SURVEY_SQLITE = """
SELECT (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses = 0 ORDER BY priority DESC, run_at, id LIMIT 1),
       (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses > 0 ORDER BY priority DESC, run_at, id LIMIT 1),
       (SELECT 1 FROM jobs_job WHERE state = 'running' AND lease_expires_at < STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')
         ORDER BY lease_owner, id LIMIT 1),
       (SELECT (JULIANDAY(run_at) - JULIANDAY('NOW')) * 86400.0
          FROM jobs_job WHERE state = 'scheduled' ORDER BY run_at, id LIMIT 1),
       COALESCE((SELECT 0 FROM jobs_cronjob
                  WHERE enabled AND next_run_at IS NULL
                    AND COALESCE(put_off_until <= STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW'), TRUE)
                  ORDER BY id LIMIT 1),
                (SELECT (JULIANDAY(next_run_at) - JULIANDAY('NOW')) * 86400.0
                   FROM jobs_cronjob
                  WHERE enabled AND COALESCE(put_off_until <= STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW'), TRUE)
                  ORDER BY next_run_at, id LIMIT 1)),
       (SELECT 1 FROM jobs_cronjob WHERE waiting_for IS NOT NULL ORDER BY id LIMIT 1)
"""

SURVEY = {"postgresql": SURVEY_POSTGRESQL, "sqlite": SURVEY_SQLITE}

# A loose index scan: one probe of job_claim_queue for each queue that has
# ready jobs, with the best priority in it.
QUEUE_HEADS = """
WITH RECURSIVE name (queue) AS (
    SELECT MIN(queue) FROM jobs_job WHERE state = 'pending' AND losses = 0
     UNION ALL
    SELECT (SELECT MIN(queue) FROM jobs_job WHERE state = 'pending' AND losses = 0 AND queue > name.queue)
      FROM name WHERE name.queue IS NOT NULL
)
SELECT queue, (SELECT priority FROM jobs_job
                WHERE state = 'pending' AND losses = 0 AND queue = name.queue
                ORDER BY priority DESC, run_at, id LIMIT 1)
  FROM name WHERE queue IS NOT NULL
"""

# For people: the oldest ready job of each priority in use in some queues,
# and for how many seconds it has been due. A loose index scan, as above.
OLDEST_READY_POSTGRESQL = """
WITH RECURSIVE level (queue, priority, id, kind, run_at) AS (
    SELECT asked.queue, head.priority, head.id, head.kind, head.run_at
      FROM JSON_ARRAY_ELEMENTS_TEXT(%(queues)s::json) AS asked (queue), LATERAL (
           SELECT priority, id, kind, run_at FROM jobs_job
            WHERE state = 'pending' AND losses = 0 AND queue = asked.queue
            ORDER BY priority DESC, run_at, id LIMIT 1) AS head
     UNION ALL
    SELECT level.queue, head.priority, head.id, head.kind, head.run_at
      FROM level, LATERAL (
           SELECT priority, id, kind, run_at FROM jobs_job
            WHERE state = 'pending' AND losses = 0 AND queue = level.queue AND priority < level.priority
            ORDER BY priority DESC, run_at, id LIMIT 1) AS head
)
SELECT queue, priority, id, kind, EXTRACT(EPOCH FROM STATEMENT_TIMESTAMP() - run_at)::double precision FROM level
"""

# The other columns are those of the row that has the minimum.
OLDEST_READY_SQLITE = """
SELECT queue, priority, id, kind, (JULIANDAY('NOW') - JULIANDAY(MIN(run_at))) * 86400.0
  FROM jobs_job
 WHERE state = 'pending' AND losses = 0 AND queue IN (SELECT value FROM JSON_EACH(%(queues)s))
 GROUP BY queue, priority
"""

OLDEST_READY = {"postgresql": OLDEST_READY_POSTGRESQL, "sqlite": OLDEST_READY_SQLITE}

# How long a statement that might be kept waiting by others waits.
PATIENCE_POSTGRESQL = "SET LOCAL lock_timeout = '200ms'"
SYNC_PATIENCE_POSTGRESQL = "SET LOCAL lock_timeout = '2s'"
LOCK_NOT_AVAILABLE = "55P03"
DEADLOCK_DETECTED = "40P01"
READ_COMMITTED_POSTGRESQL = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"

NOTIFY = "SELECT PG_NOTIFY(%(channel)s, %(payload)s)"

# Autovacuum by row count instead of a fifth of the table: at ten million rows
# the default would leave two million dead entries in front of the claim.
TUNE_POSTGRESQL = """
ALTER TABLE jobs_job SET (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0
)
"""

# One decision about many jobs: what it changed goes in by job, the rest is the same for all.
DECIDE_POSTGRESQL = """
INSERT INTO jobs_jobevent (at, kind, job_id, queue, worker, slots, actor_id, actor_label, reason, changes)
SELECT STATEMENT_TIMESTAMP(), %(kind)s, job_id, '', '', '{}', %(actor_id)s, %(actor_label)s, %(reason)s, changes
  FROM JSON_TO_RECORDSET(%(rows)s::json) AS decided (job_id bigint, changes jsonb)
"""

DECIDE_SQLITE = """
INSERT INTO jobs_jobevent (at, kind, job_id, queue, worker, slots, actor_id, actor_label, reason, changes)
SELECT STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW'), %(kind)s, JSON_EXTRACT(value, '$.job_id'), '', '', '{}',
       %(actor_id)s, %(actor_label)s, %(reason)s, JSON_EXTRACT(value, '$.changes')
  FROM JSON_EACH(%(rows)s)
"""

DECIDE = {"postgresql": DECIDE_POSTGRESQL, "sqlite": DECIDE_SQLITE}
