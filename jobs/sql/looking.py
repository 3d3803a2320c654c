"""What there is to do, and where: each a few probes of an index."""

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
       (SELECT 1 FROM jobs_cronjob WHERE waiting_for IS NOT NULL ORDER BY id LIMIT 1),
       (SELECT STRING_AGG(name, ',') FROM jobs_queue
         WHERE paused_at IS NOT NULL AND COALESCE(resume_at > STATEMENT_TIMESTAMP(), TRUE))
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
       (SELECT 1 FROM jobs_cronjob WHERE waiting_for IS NOT NULL ORDER BY id LIMIT 1),
       (SELECT GROUP_CONCAT(name, ',') FROM jobs_queue
         WHERE paused_at IS NOT NULL AND COALESCE(resume_at > STRFTIME('%Y-%m-%d %H:%M:%f', 'NOW'), TRUE))
"""

SURVEY = {"postgresql": SURVEY_POSTGRESQL, "sqlite": SURVEY_SQLITE}

# A loose index scan: two probes of job_claim_queue for each queue that has
# ready jobs. What comes first in each below a priority, in the order of the claim.
QUEUE_HEADS = """
WITH RECURSIVE name (queue) AS (
    SELECT MIN(queue) FROM jobs_job WHERE state = 'pending' AND losses = 0
     UNION ALL
    SELECT (SELECT MIN(queue) FROM jobs_job WHERE state = 'pending' AND losses = 0 AND queue > name.queue)
      FROM name WHERE name.queue IS NOT NULL
)
SELECT head.queue, head.priority
  FROM name JOIN jobs_job AS head
    ON head.id = (SELECT id FROM jobs_job
                   WHERE state = 'pending' AND losses = 0 AND queue = name.queue AND priority < %(below)s
                   ORDER BY priority DESC, run_at, id LIMIT 1)
 ORDER BY head.priority DESC, head.run_at, head.id
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
