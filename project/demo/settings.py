"""The demo site's settings, with leases so short that a person can watch them end. DEMO_DIR moves what jobs write."""

import os
from pathlib import Path

from project.settings import *  # noqa: F403
from project.settings import VAR_DIR

VAR_DIR = Path(os.environ.get("DEMO_DIR", VAR_DIR / "demo"))
EMAIL_FILE_PATH = VAR_DIR / "mail"

# Nothing is claimed ahead, since the start of such a job is stored a heartbeat later: too late to tell in order.
JOBS = {"LEASE_SECONDS": 3, "HEARTBEAT_SECONDS": 1, "CLAIM_AHEAD": 0}
