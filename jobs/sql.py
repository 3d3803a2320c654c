"""
The statements that the ORM cannot express, as constants.

Rows travel in as one JSON text and are spread out by the database, so that
a statement has the same shape for one row and for a thousand.
"""

from __future__ import annotations

# The conflict target is the partial unique index job_unique_key, named by its
# columns and predicate: a bare DO NOTHING would swallow any other conflict too.
ENQUEUE_POSTGRESQL = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, expires_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata)
SELECT kind, args, payload, queue, priority,
       CASE WHEN run_at IS NULL AND delay IS NULL OR run_at <= STATEMENT_TIMESTAMP() THEN 'pending' ELSE 'scheduled' END,
       COALESCE(run_at, STATEMENT_TIMESTAMP()) + MAKE_INTERVAL(secs => COALESCE(delay, 0)),
       expires_at, STATEMENT_TIMESTAMP(), max_attempts,
       backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata
  FROM JSON_TO_RECORDSET(%(rows)s::json) AS spec (
       kind text, args jsonb, payload jsonb, queue text, priority smallint, run_at timestamptz, delay double precision,
       expires_at timestamptz, max_attempts integer, backoff_base double precision, backoff_cap double precision,
       backoff_jitter double precision, timeout double precision, unique_key text, metadata jsonb)
    ON CONFLICT (unique_key) WHERE state IN ('scheduled', 'pending', 'running') AND unique_key IS NOT NULL DO NOTHING
RETURNING id, unique_key, state, run_at, enqueued_at
"""

ENQUEUE_SQLITE = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, expires_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata)
SELECT JSON_EXTRACT(value, '$.kind'), JSON_EXTRACT(value, '$.args'), JSON_EXTRACT(value, '$.payload'),
       JSON_EXTRACT(value, '$.queue'), JSON_EXTRACT(value, '$.priority'),
       CASE WHEN COALESCE(JSON_EXTRACT(value, '$.run_at'), '') <= STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')
             AND JSON_EXTRACT(value, '$.delay') IS NULL THEN 'pending' ELSE 'scheduled' END,
       COALESCE(JSON_EXTRACT(value, '$.run_at'),
                STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', COALESCE(JSON_EXTRACT(value, '$.delay'), 0) || ' seconds')),
       JSON_EXTRACT(value, '$.expires_at'), STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW'),
       JSON_EXTRACT(value, '$.max_attempts'), JSON_EXTRACT(value, '$.backoff_base'),
       JSON_EXTRACT(value, '$.backoff_cap'), JSON_EXTRACT(value, '$.backoff_jitter'), JSON_EXTRACT(value, '$.timeout'),
       JSON_EXTRACT(value, '$.unique_key'), JSON_EXTRACT(value, '$.metadata')
  FROM JSON_EACH(%(rows)s)
 WHERE 1
    ON CONFLICT (unique_key) WHERE state IN ('scheduled', 'pending', 'running') AND unique_key IS NOT NULL DO NOTHING
RETURNING id, unique_key, state, run_at, enqueued_at
"""

ENQUEUE = {"postgresql": ENQUEUE_POSTGRESQL, "sqlite": ENQUEUE_SQLITE}

# Settling: lock what is still held under this claim (skipping rows somebody
# else has locked), write it, write the runs, and answer for every row offered.
# The fence is claim_no and a present lease, not state = 'running': with the
# state in the predicate the planner would join through the partial index of
# running jobs, which is full of dead entries while an old snapshot is open.
# The row is "busy" if this statement's snapshot still shows it held.
SETTLE_POSTGRESQL = """
WITH offered AS MATERIALIZED (
    SELECT * FROM JSON_TO_RECORDSET(%(rows)s::json) AS offer (
        id bigint, claim_no integer, target text, final boolean, yields boolean, refund integer, delay double precision,
        result jsonb, error text, losses smallint, stranded smallint, unknown boolean, outcome text,
        exception_class text, message text, traceback text, log text,
        age double precision, duration double precision)
), locked AS MATERIALIZED (
    SELECT job.id, job.claim_no, job.attempt, job.lease_owner, job.started_at, job.log, offer.yields AND
           job.cancel_requested_at IS NOT NULL AS is_cancelled
      FROM offered AS offer JOIN jobs_job AS job ON job.id = offer.id
     WHERE job.claim_no = offer.claim_no AND job.lease_expires_at IS NOT NULL
     ORDER BY job.id
       FOR NO KEY UPDATE OF job SKIP LOCKED
), settled AS (
    UPDATE jobs_job AS job
       SET state = CASE WHEN locked.is_cancelled THEN 'cancelled' ELSE offer.target END,
           finished_at = CASE WHEN locked.is_cancelled OR offer.final
                              THEN STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.age) END,
           started_at = CASE WHEN locked.is_cancelled OR offer.final THEN COALESCE(STATEMENT_TIMESTAMP()
                             - MAKE_INTERVAL(secs => offer.age + offer.duration), locked.started_at) END,
           progress = CASE WHEN locked.is_cancelled OR offer.final THEN job.progress END,
           run_at = CASE WHEN offer.delay IS NULL OR locked.is_cancelled THEN job.run_at
                         ELSE STATEMENT_TIMESTAMP() + MAKE_INTERVAL(secs => offer.delay) END,
           attempt = job.attempt - offer.refund,
           result = CASE WHEN offer.target = 'succeeded' THEN offer.result ELSE job.result END,
           error = COALESCE(offer.error, job.error),
           losses = COALESCE(offer.losses, job.losses),
           stranded = job.stranded + offer.stranded,
           unknown_since = CASE WHEN offer.unknown THEN COALESCE(job.unknown_since, STATEMENT_TIMESTAMP())
                                WHEN offer.outcome IS NULL THEN job.unknown_since END,
           lease_owner = '', lease_expires_at = NULL, cancel_requested_at = NULL, log = ''
      FROM offered AS offer JOIN locked ON locked.id = offer.id AND locked.claim_no = offer.claim_no
     WHERE job.id = offer.id
 RETURNING job.id, job.claim_no
), runs AS (
    INSERT INTO jobs_jobrun (job_id, attempt, claim_no, worker, outcome, started_at, finished_at,
                             exception_class, message, traceback, log)
    SELECT locked.id, locked.attempt, locked.claim_no, locked.lease_owner, offer.outcome,
           COALESCE(STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.age + offer.duration), locked.started_at),
           STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.age),
           offer.exception_class, offer.message, offer.traceback, COALESCE(offer.log, locked.log)
      FROM settled
      JOIN locked USING (id, claim_no)
      JOIN offered AS offer USING (id, claim_no)
     WHERE offer.outcome IS NOT NULL
)
SELECT offer.id, offer.claim_no,
       CASE WHEN settled.id IS NOT NULL THEN 'done' WHEN held.id IS NOT NULL THEN 'busy' ELSE 'lost' END
  FROM offered AS offer
  LEFT JOIN settled ON settled.id = offer.id AND settled.claim_no = offer.claim_no
  LEFT JOIN jobs_job AS held
    ON held.id = offer.id AND held.claim_no = offer.claim_no AND held.lease_expires_at IS NOT NULL
"""

RENEW_POSTGRESQL = """
WITH offered AS MATERIALIZED (
    SELECT * FROM JSON_TO_RECORDSET(%(rows)s::json) AS offer (
        id bigint, claim_no integer, running double precision, progress jsonb, log text)
), locked AS MATERIALIZED (
    SELECT job.id, job.claim_no
      FROM offered AS offer JOIN jobs_job AS job ON job.id = offer.id
     WHERE job.claim_no = offer.claim_no AND job.lease_expires_at IS NOT NULL
     ORDER BY job.id
       FOR NO KEY UPDATE OF job SKIP LOCKED
), renewed AS (
    UPDATE jobs_job AS job
       SET lease_expires_at = STATEMENT_TIMESTAMP() + MAKE_INTERVAL(secs => %(lease_seconds)s),
           started_at = COALESCE(job.started_at, STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.running)),
           progress = COALESCE(offer.progress, job.progress),
           log = COALESCE(offer.log, job.log)
      FROM offered AS offer JOIN locked ON locked.id = offer.id AND locked.claim_no = offer.claim_no
     WHERE job.id = offer.id
 RETURNING job.id, job.claim_no, job.cancel_requested_at IS NOT NULL AS cancel_requested
)
SELECT offer.id, offer.claim_no,
       CASE WHEN renewed.id IS NOT NULL THEN 'done' WHEN held.id IS NOT NULL THEN 'busy' ELSE 'lost' END,
       COALESCE(renewed.cancel_requested, held.cancel_requested_at IS NOT NULL)
  FROM offered AS offer
  LEFT JOIN renewed ON renewed.id = offer.id AND renewed.claim_no = offer.claim_no
  LEFT JOIN jobs_job AS held
    ON held.id = offer.id AND held.claim_no = offer.claim_no AND held.lease_expires_at IS NOT NULL
"""

# One row that answers for every duty of an idle worker.
SURVEY_POSTGRESQL = """
SELECT EXISTS (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses = 0),
       EXISTS (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses > 0),
       EXISTS (SELECT 1 FROM jobs_job WHERE state = 'running' AND lease_expires_at < STATEMENT_TIMESTAMP()),
       (SELECT EXTRACT(EPOCH FROM run_at - STATEMENT_TIMESTAMP())::double precision
          FROM jobs_job WHERE state = 'scheduled' ORDER BY run_at, id LIMIT 1)
"""

SURVEY_SQLITE = """
SELECT EXISTS (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses = 0),
       EXISTS (SELECT 1 FROM jobs_job WHERE state = 'pending' AND losses > 0),
       EXISTS (SELECT 1 FROM jobs_job
                WHERE state = 'running' AND lease_expires_at < STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW')),
       (SELECT (JULIANDAY(run_at) - JULIANDAY('NOW')) * 86400.0
          FROM jobs_job WHERE state = 'scheduled' ORDER BY run_at, id LIMIT 1)
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
