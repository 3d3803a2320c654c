"""What the engine wrote down in English, read in another language."""

from __future__ import annotations

import pytest
from django.utils import translation

from jobs import stats
from jobs.exceptions import Discard
from jobs.outcomes import EXPIRED, NOTES
from tests.test_outcomes import decided, lost


@translation.override("de")
def test_a_note_of_the_engine_is_told_in_the_language_of_the_reader() -> None:
    error = decided(lost()).error
    assert error is not None

    assert error == ("Worker w1 lost the lease; it has not been heard of since (last heartbeat 12:00).")
    assert stats.translated_note(error) == (
        "Worker w1 verlor die Lease und ist seither verschollen (letztes Lebenszeichen 12:00)."
    )
    assert stats.translated_note(EXPIRED) == "Abgelaufen, bevor er beginnen konnte."
    assert stats.translated_note(str(Discard())) == "Der Handler hat den Job verworfen."


@pytest.mark.parametrize("text", ["", "ValueError: x", f"{EXPIRED} Or so.", "Cancelled"])
@translation.override("de")
def test_what_a_handler_wrote_stays_as_it_is(text: str) -> None:
    assert stats.translated_note(text) == text


@pytest.mark.parametrize("note", NOTES)
@translation.override("en")
def test_in_english_a_note_stays_as_it_was_stored(note: str) -> None:
    stored = note % dict.fromkeys(("worker", "heard", "deaths", "kind"), "100 %")

    assert stats.translated_note(stored) == stored
