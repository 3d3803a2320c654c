"""Tracebacks: the site's own code first."""

from __future__ import annotations

import json
import traceback

import pytest

from jobs.stats import Part, folded

pytestmark = pytest.mark.once

OWN = '  File "/srv/shop/payments.py", line 88, in charge\n    gateway.post(card)\n    ~~~~~~~~~~~~^^^^^^'
LIBRARY = '  File "/srv/venv/lib/python3.12/site-packages/urllib3/pool.py", line 1, in urlopen\n    raise error'
HEAD, END = "Traceback (most recent call last):", "ConnectionError: refused"


def text(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def test_frames_of_libraries_are_folded_in_their_place() -> None:
    parts = folded(text(HEAD, OWN, LIBRARY, LIBRARY, END))

    assert parts == [
        Part(text=f"{HEAD}\n{OWN}"),
        Part(text=f"{LIBRARY}\n{LIBRARY}", library_frames=2),
        Part(text=END),
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/usr/lib/python3.11/json/decoder.py",
        "/usr/local/lib64/python3.13/asyncio/runners.py",
        "/usr/lib/python3/dist-packages/requests/api.py",
        r"C:\Python313\Lib\json\decoder.py",
        r"C:\shop\.venv\Lib\site-packages\django\db\utils.py",
        "<frozen importlib._bootstrap>",
    ],
)
def test_a_library_is_known_by_its_path(path: str) -> None:
    parts = folded(text(HEAD, OWN, f'  File "{path}", line 1, in x', END))

    assert [part.library_frames for part in parts] == [0, 1, 0]


def test_where_all_is_library_nothing_is_folded() -> None:
    assert folded(text(HEAD, LIBRARY, END)) == [Part(text=f"{HEAD}\n{LIBRARY}\n{END}")]


def test_no_traceback_has_no_parts() -> None:
    assert folded("") == []


def test_what_was_repeated_belongs_to_its_frame() -> None:
    repeated = f"{LIBRARY}\n  [Previous line repeated 97 more times]"

    assert folded(text(HEAD, OWN, repeated, END))[1] == Part(text=repeated, library_frames=1)


def test_lines_of_a_message_are_not_taken_for_code() -> None:
    message = "ValueError: two lines\n    of text"

    assert folded(text(HEAD, OWN, LIBRARY, message))[-1] == Part(text=message)


def test_real_tracebacks_with_causes_and_groups_lose_nothing() -> None:
    def fail() -> None:
        try:
            json.loads("{")
        except ValueError as error:
            raise ExceptionGroup("several", [KeyError("a"), error]) from error

    try:
        fail()
    except ExceptionGroup:
        whole = traceback.format_exc()

    parts = folded(whole)

    assert "\n".join(part.text for part in parts) == whole.rstrip()
    assert any(part.library_frames and "json/decoder.py" in part.text for part in parts)
    assert all("test_tracebacks" not in part.text for part in parts if part.library_frames)
