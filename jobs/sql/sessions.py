"""Patience, isolation, notifications and storage: what concerns no row."""

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
