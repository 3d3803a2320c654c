"""The smallest site that runs jobs, as it runs in production: DEBUG off, and ``JOBS`` as a benchmark asks for."""

import json
import os

from project.databases import database

SECRET_KEY = "benchmarks"
DEBUG = False
INSTALLED_APPS = ["jobs", "benchmarks"]
DATABASES = {"default": database(default="postgres:///postgres")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
# No setting is touched but by the benchmarks of deaths, which use a short lease.
JOBS = json.loads(os.environ.get("JOBS_BENCH_SETTINGS", "{}"))
