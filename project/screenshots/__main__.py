"""``python -m project.screenshots FOLDER``: make a database, put a day of the shop into it, and take its pictures."""

import os
import sys
import tempfile
from pathlib import Path

import django
from django.core.management import call_command
from django.utils import translation


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="jobs-screenshots-") as scratch:
        os.environ["DATABASE_URL"] = f"sqlite:///{scratch}/shop.sqlite3"
        os.environ["DJANGO_SETTINGS_MODULE"] = "project.settings"
        django.setup()
        call_command("migrate", verbosity=0)
        # Only now can models be imported.
        from . import camera, day

        with translation.override("en"):
            rows = day.make()
        camera.take(rows, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
