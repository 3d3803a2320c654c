"""Jobs, and what was decided about them: many rows from one JSON text."""

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
