"""Jobs, and what was decided about them: many rows from one JSON text."""

# A row that does not name its kind has what is usual for the statement's;
# one that does has nothing of that, so what it leaves out is null.

# The conflict target is the partial unique index job_unique_key, named by its
# columns and predicate: a bare DO NOTHING would swallow any other conflict too.
ENQUEUE_POSTGRESQL = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, expires_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata, cron_id, scheduled_for, origin)
SELECT COALESCE(spec.kind, usual.kind), args, payload,
       COALESCE(spec.queue, usual.queue), COALESCE(spec.priority, usual.priority),
       CASE WHEN run_at IS NULL AND delay IS NULL OR run_at <= STATEMENT_TIMESTAMP() THEN 'pending' ELSE 'scheduled' END,
       COALESCE(run_at, STATEMENT_TIMESTAMP()) + MAKE_INTERVAL(secs => COALESCE(delay, 0)),
       expires_at, STATEMENT_TIMESTAMP(), COALESCE(spec.max_attempts, usual.max_attempts),
       COALESCE(spec.backoff_base, usual.backoff_base), COALESCE(spec.backoff_cap, usual.backoff_cap),
       COALESCE(spec.backoff_jitter, usual.backoff_jitter),
       COALESCE(spec.timeout, CASE WHEN spec.kind IS NULL THEN usual.timeout END),
       unique_key, COALESCE(spec.metadata, usual.metadata), cron_id, scheduled_for, COALESCE(origin, '')
  FROM JSON_TO_RECORDSET(%(rows)s::json) AS spec (
       kind text, args jsonb, payload jsonb, queue text, priority smallint, run_at timestamptz, delay double precision,
       expires_at timestamptz, max_attempts integer, backoff_base double precision, backoff_cap double precision,
       backoff_jitter double precision, timeout double precision, unique_key text, metadata jsonb,
       cron_id bigint, scheduled_for timestamptz, origin text),
       JSON_TO_RECORD(%(usual)s::json) AS usual (
       kind text, queue text, priority smallint, max_attempts integer, backoff_base double precision,
       backoff_cap double precision, backoff_jitter double precision, timeout double precision, metadata jsonb)
    ON CONFLICT (unique_key) WHERE state IN ('scheduled', 'pending', 'running') AND unique_key IS NOT NULL DO NOTHING
"""

ENQUEUE_SQLITE = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, expires_at, enqueued_at, max_attempts,
                      backoff_base, backoff_cap, backoff_jitter, timeout, unique_key, metadata, cron_id, scheduled_for, origin)
SELECT JSON_EXTRACT(base, '$.kind'), JSON_EXTRACT(value, '$.args'), JSON_EXTRACT(value, '$.payload'),
       JSON_EXTRACT(base, '$.queue'), JSON_EXTRACT(base, '$.priority'),
       CASE WHEN COALESCE(JSON_EXTRACT(value, '$.run_at'), '') <= STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')
             AND JSON_EXTRACT(value, '$.delay') IS NULL THEN 'pending' ELSE 'scheduled' END,
       COALESCE(JSON_EXTRACT(value, '$.run_at'),
                STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', COALESCE(JSON_EXTRACT(value, '$.delay'), 0) || ' seconds')),
       JSON_EXTRACT(value, '$.expires_at'), STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW'),
       JSON_EXTRACT(base, '$.max_attempts'), JSON_EXTRACT(base, '$.backoff_base'),
       JSON_EXTRACT(base, '$.backoff_cap'), JSON_EXTRACT(base, '$.backoff_jitter'),
       COALESCE(JSON_EXTRACT(value, '$.timeout'), JSON_EXTRACT(base, '$.timeout')),
       JSON_EXTRACT(value, '$.unique_key'), JSON_EXTRACT(base, '$.metadata'),
       JSON_EXTRACT(value, '$.cron_id'), JSON_EXTRACT(value, '$.scheduled_for'),
       COALESCE(JSON_EXTRACT(value, '$.origin'), '')
  FROM (SELECT value, CASE WHEN JSON_EXTRACT(value, '$.kind') IS NULL THEN %(usual)s ELSE value END AS base
          FROM JSON_EACH(%(rows)s)) AS spec
 WHERE 1
    ON CONFLICT (unique_key) WHERE state IN ('scheduled', 'pending', 'running') AND unique_key IS NOT NULL DO NOTHING
"""

ENQUEUE = {"postgresql": ENQUEUE_POSTGRESQL, "sqlite": ENQUEUE_SQLITE}
RETURNING_KEY = "RETURNING id, unique_key"
RETURNING_ALL = "RETURNING id, state, run_at, enqueued_at"

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
