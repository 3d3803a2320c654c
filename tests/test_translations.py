"""The translations: that all is translated, that what is shipped is that, and that pages show it."""

from __future__ import annotations

import gettext
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import translation

import jobs
from jobs import cron, payload, registry, retry, stats
from jobs.durations import spoken
from jobs.exceptions import InvalidCron, InvalidJob
from tests.test_admin import dead_job, url

PACKAGE = Path(jobs.__file__).parent
CATALOGUE = Path("locale/de/LC_MESSAGES/django.po")

needs_gettext = pytest.mark.skipif(not shutil.which("xgettext"), reason="needs GNU gettext")


@pytest.fixture
def made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The catalogue as ``make messages`` would leave it."""
    copy = tmp_path / "jobs"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
    monkeypatch.chdir(copy)
    call_command("makemessages", locale=["de"], no_location=True, no_obsolete=True, no_wrap=True, verbosity=0)
    return (copy / CATALOGUE).read_text()


@pytest.mark.once
@needs_gettext
def test_the_catalogue_has_every_text_of_the_code_and_no_other(made_anew: str) -> None:
    assert _sources(made_anew) == _sources((PACKAGE / CATALOGUE).read_text())


@pytest.mark.once
@needs_gettext
def test_every_text_is_translated(made_anew: str) -> None:
    assert not re.findall(r'^msgid "(.+)"\n(?:msgid_plural .*\n)?msgstr(?:\[\d\])? ""$', made_anew, re.M)
    assert ", fuzzy" not in made_anew


@pytest.mark.once
@needs_gettext
def test_what_is_shipped_is_the_catalogue(tmp_path: Path) -> None:
    compiled = tmp_path / "django.mo"
    subprocess.run(["msgfmt", "--check", "-o", compiled, PACKAGE / CATALOGUE], check=True)

    assert _texts(compiled) == _texts(PACKAGE / CATALOGUE.with_suffix(".mo"))


# The middleware leaves the thread in the language of its last request.
@translation.override("en")
@pytest.mark.django_db
def test_pages_come_in_the_language_that_the_browser_asks_for(admin_client: Client) -> None:
    job = dead_job(max_attempts=5)

    html = admin_client.get(url("job_change", job.pk), headers={"accept-language": "de"}).content.decode()

    for text in ("Aufgegeben", "Versuch 1 von 5", "Sein Handler gab ihn in Versuch 1 auf", "Wiederholen", "Verlauf"):
        assert text in html
    for text in ("Dead", "Attempt", "Timeline", "Queue"):
        assert f">{text}" not in html


@translation.override("de")
def test_numbers_are_written_as_the_language_has_them() -> None:
    assert str(stats.Count.of(10_001)) == "10.000+"
    assert spoken(2.345) == "2,35 s"


@translation.override("de")
def test_what_is_wrong_with_a_rule_is_said_in_the_language_of_the_reader() -> None:
    with pytest.raises(InvalidCron, match=r"Stunde '99' liegt außerhalb des Bereichs: 0-23, '\*' oder Bereiche wie"):
        cron.validate("0 99 * * *")


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (lambda: payload.check({"a": float("nan")}, "payload", max_bytes=100), "wofür JSON keine Zahl hat"),
        (
            lambda: payload.check("x" * 2_000, "payload", max_bytes=1_000),
            "payload hat 2.002 Bytes als JSON; die Grenze",
        ),
        (lambda: retry.seconds(-1, "delay"), "delay=-1 liegt außerhalb des Bereichs: 0 bis"),
        (
            lambda: registry.resolve("noob"),
            r"kein Handler registriert \(gemeint ist vielleicht 'noop'\): eine Funktion",
        ),
    ],
    ids=["number", "size", "delay", "kind"],
)
@translation.override("de")
def test_what_is_refused_below_the_admin_is_said_in_the_language_of_the_reader(
    refused: Callable[[], object], said: str
) -> None:
    with pytest.raises(InvalidJob, match=said):
        refused()


def _sources(catalogue: str) -> list[str]:
    return re.findall(r'^msgid(?:_plural)? "(.+)"$', catalogue, re.M)


def _texts(path: Path) -> dict[Any, Any]:
    with path.open("rb") as file:
        texts: dict[Any, Any] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    return texts
