"""Messages of errors in the language of whoever reads them, as far as there is one yet."""

from __future__ import annotations

from django.apps import apps
from django.utils.translation import gettext


def translated(text: str) -> str:
    """Translate; but a handler or schedule that is declared before the apps are ready has its error in English."""
    return gettext(text) if apps.apps_ready else text


def gettext_noop(text: str) -> str:
    """Mark a text for the catalogue. Django's own asks for settings, of which there may be none when jobs is imported."""
    return text
