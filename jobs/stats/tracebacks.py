"""Taking a traceback apart, so that the site's own code is seen before that of libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

_FRAME = re.compile(r'(?P<depth>[ |+-]*)File "(?P<path>[^"\n]*)", line \d+')
_LIBRARY = re.compile(
    r"[/\\](site|dist)-packages[/\\]|[/\\]lib(64)?[/\\]python\d[\d.]*[/\\]|[/\\]python\d+[/\\]lib[/\\]|^<frozen ", re.I
)
_OURS = str(Path(__file__).parent.parent)
_REPEATED = "[Previous line repeated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some lines of a traceback. ``library_frames`` is how many frames they are, if they are a library's, else 0."""

    text: str
    library_frames: int = 0


def folded(traceback: str) -> list[Part]:
    """Return the parts of ``traceback``, in order; nothing is a library's if all of it would be."""
    blocks = list(_blocks(traceback.splitlines()))
    if all(is_library for text, is_library in blocks if _FRAME.match(text)):
        return [Part(text=traceback.rstrip())] if traceback else []
    return [
        _part([text for text, _ in group], is_library) for is_library, group in groupby(blocks, lambda block: block[1])
    ]


def _part(texts: list[str], is_library: bool) -> Part:  # noqa: FBT001 (private, and groupby's key)
    return Part(text="\n".join(texts), library_frames=len(texts) if is_library else 0)


def _blocks(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield frames with the lines below them, and each line that is in no frame; and whether it is a library's."""
    block: list[str] = []
    frame: re.Match[str] | None = None
    for line in lines:
        if frame is not None and _belongs(line, frame):
            block.append(line)
            continue
        if block:
            yield "\n".join(block), _is_library(frame)
        block, frame = [line], _FRAME.match(line)
    if block:
        yield "\n".join(block), _is_library(frame)


def _belongs(line: str, frame: re.Match[str]) -> bool:
    depth = len(frame["depth"])
    inner = line[depth:]
    if _FRAME.match(line) or line[:depth].strip(" |+-"):
        return False
    return inner.startswith((" ", _REPEATED))


def _is_library(frame: re.Match[str] | None) -> bool:
    return frame is not None and (frame["path"].startswith(_OURS) or _LIBRARY.search(frame["path"]) is not None)
