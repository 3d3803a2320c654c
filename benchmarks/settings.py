"""The smallest site that runs jobs, as it runs in production: DEBUG off and no setting of ``JOBS`` touched."""

from project.databases import database

SECRET_KEY = "benchmarks"
DEBUG = False
INSTALLED_APPS = ["jobs", "benchmarks"]
DATABASES = {"default": database(default="postgres:///postgres")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
