"""Taking, settling and renewing leases (PostgreSQL; elsewhere the ORM does it)."""

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
    SELECT offer.*, held.attempt, held.lease_owner, held.run_at AS due_at, held.started_at, held.log AS stored_log,
           COALESCE(offer.yields AND held.is_asked, FALSE) AS is_cancelled,
           COALESCE(offer.yields AND held.is_asked, FALSE) OR offer.final AS is_final,
           STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.age) AS ended_at,
           COALESCE(STATEMENT_TIMESTAMP() - MAKE_INTERVAL(secs => offer.age + offer.duration), held.started_at) AS began_at
      FROM offered AS offer, LATERAL (
        SELECT job.attempt, job.lease_owner, job.run_at, job.started_at, job.log,
               job.cancel_requested_at IS NOT NULL AS is_asked
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
    INSERT INTO jobs_jobrun (job_id, attempt, claim_no, worker, outcome, due_at, started_at, finished_at,
                             exception_class, message, traceback, log)
    SELECT id, attempt, claim_no, lease_owner, outcome, due_at, began_at, ended_at,
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
