"""What a tick notes on schedules (PostgreSQL; elsewhere the ORM does it)."""

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
