"""A crowded site, by SQL: so many jobs, most of which have ended, and what comes with them."""

# The oldest wait, or ended badly; most has succeeded since.
JOBS = """
INSERT INTO jobs_job (kind, args, payload, queue, priority, state, run_at, enqueued_at, started_at, finished_at,
                      attempt, max_attempts, backoff_base, backoff_cap, backoff_jitter, metadata, claim_no,
                      lease_owner, lease_expires_at, losses, unique_key, error, cron_id)
SELECT CASE WHEN MOD(n, 1000) = 8 THEN 'echo' ELSE 'noop' END, '[]', '{}',
       CASE WHEN MOD(n, 1000) = 3 THEN 'small' ELSE 'bulk' END, MOD(n, 3),
       state, NOW() + CASE state WHEN 'scheduled' THEN 1 ELSE -1 END * n * INTERVAL '1 second',
       NOW() - INTERVAL '1 day',
       CASE WHEN state IN ('running', 'succeeded', 'dead') THEN NOW() - INTERVAL '1 hour' END,
       CASE WHEN state IN ('succeeded', 'dead', 'cancelled') THEN NOW() - (%(rows)s - n) * INTERVAL '0.1 second' END,
       CASE WHEN state = 'pending' OR MOD(n, 4) < 2 THEN 0 ELSE 1 END, 8, 2, 300, 0.3, '{}', 1,
       CASE WHEN state = 'running' THEN 'w' || MOD(n, 50) ELSE '' END,
       CASE WHEN state = 'running' THEN NOW() + INTERVAL '1 hour' END,
       CASE WHEN state = 'pending' AND MOD(n, 1000) = 0 THEN 1 ELSE 0 END,
       CASE WHEN MOD(n, 100) = 7 THEN 'key ' || n END,
       CASE WHEN state = 'dead' THEN 'ValueError: boo ' || n ELSE '' END,
       CASE WHEN MOD(n, 100) = 9 THEN MOD(n, 7) + (SELECT MIN(id) FROM jobs_cronjob) END
  FROM (SELECT n, CASE WHEN MOD(n, 8) = 7 THEN 'succeeded'
                       WHEN n <= %(rows)s * 0.10 THEN 'pending' WHEN n <= %(rows)s * 0.20 THEN 'scheduled'
                       WHEN n <= %(rows)s * 0.25 THEN 'dead' WHEN n <= %(rows)s * 0.30 THEN 'cancelled'
                       WHEN n <= %(rows)s * 0.30 + 500 THEN 'running' ELSE 'succeeded' END AS state
          FROM GENERATE_SERIES(1, %(rows)s) AS n) AS crowd
"""
RUNS = """
INSERT INTO jobs_jobrun (job_id, attempt, claim_no, worker, outcome, due_at, started_at, finished_at,
                         exception_class, message, traceback, log)
SELECT id, 1, 1, 'w' || MOD(id, 50), 'succeeded', run_at, started_at, finished_at, '', '', '', '' FROM jobs_job
 WHERE finished_at IS NOT NULL AND started_at IS NOT NULL ORDER BY id DESC LIMIT %(told)s
"""
EVENTS = """
INSERT INTO jobs_jobevent (at, kind, job_id, queue, worker, cron_id, slots, actor_id, actor_label, reason, changes)
SELECT NOW(), CASE WHEN MOD(id, 500) = 0 THEN 'paused' ELSE 'cancelled' END, CASE WHEN MOD(id, 500) > 0 THEN id END,
       CASE WHEN MOD(id, 500) = 0 THEN 'bulk' ELSE '' END, CASE WHEN MOD(id, 500) = 1 THEN 'w1' ELSE '' END, cron_id,
       '{}', '1', 'bob', '', '{}' FROM jobs_job ORDER BY id DESC LIMIT %(told)s
"""
QUEUES = """
INSERT INTO jobs_queue (name, paused_at, paused_by, pause_reason)
SELECT name, CASE WHEN name = 'small' THEN NOW() END, '', '' FROM UNNEST(ARRAY['bulk', 'small', 'empty']) AS name
"""
WORKERS = """
INSERT INTO jobs_worker (name, hostname, pid, version, queues, kinds, concurrency, running, started_at, heartbeat_at,
                         clock_skew)
SELECT 'w' || n, 'host', n, '1', '[]', '[]', 4, 4, NOW(), NOW() - CASE WHEN n > 40 THEN INTERVAL '1 day' ELSE '0' END, 0
  FROM GENERATE_SERIES(0, 49) AS n
"""
SCHEDULES = """
INSERT INTO jobs_cronjob (name, origin, declared, kind, args, payload, queue, unique_key, metadata, expression, every,
                          timezone, enabled, jitter, catch_up, catch_up_limit, catch_up_window, overlap, next_run_at)
SELECT 'schedule ' || n, 'person', '{}', 'noop', '[]', '{}', '', '', '{}', '', 86400, 'UTC', true, 0, 'latest', 100,
       86400, 'allow', NOW() + INTERVAL '1 h' FROM GENERATE_SERIES(1, 7) AS n
"""

# The jobs name their schedules, and what is about the jobs names them.
ABOUT_JOBS = (RUNS, EVENTS, QUEUES, WORKERS)
STATEMENTS = (SCHEDULES, JOBS, *ABOUT_JOBS)
TABLES = ("jobs_job", "jobs_jobrun", "jobs_jobevent", "jobs_queue", "jobs_worker", "jobs_cronjob")
