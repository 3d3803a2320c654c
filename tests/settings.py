"""A small site for the tests. DATABASE_URL is set by ``tests.database``, and for worker processes by the tests."""

import json
import os
from importlib.util import find_spec

from project.databases import database

SECRET_KEY = "tests"
ALLOWED_HOSTS = ["testserver"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "jobs",
    "tests",
    # Whose schedules are imported: the group "moving", which not every Django goes with.
    *filter(find_spec, ["django_celery_beat", "django_q"]),
]

MIDDLEWARE = [
    "tests.browser.policy.strict_policy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

ROOT_URLCONF = "tests.urls"
STATIC_URL = "static/"

DATABASES = {"default": database(default="sqlite:///var/tests.sqlite3")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, since the default, a database in memory, is invisible to worker processes.
    DATABASES["default"]["TEST"] = {"NAME": f"{DATABASES['default']['NAME']}.test"}
if os.environ.get("JOBS_TEST_DB") == "pooler":
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TIME_ZONE = "UTC"
USE_TZ = True

# Worker processes that a test starts get their JOBS setting from it.
JOBS = json.loads(os.environ.get("JOBS_TEST_SETTINGS", "{}"))

# Without them django-q2 warns.
Q_CLUSTER = {"timeout": 60, "retry": 120}
