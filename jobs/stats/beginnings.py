"""Reading the beginning of a JSON text that was cut, so that a part of something large can be masked and shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

CUT = "…"
MISSING = f'"{CUT}"'
MARKS = frozenset("{}[],:")

# A string, a bracket or mark, a literal, or a string that was cut.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|".*', re.S)
_WHOLE_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_CUT_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$")


def parsed(beginning: str) -> Any:
    """Return what the text says as far as it goes, with "…" wherever something is missing."""
    pieces = _TOKEN.findall(beginning)
    if not pieces:
        return CUT
    pieces[-1] = _completed(pieces[-1])
    rest = iter(pieces)
    return _value(next(rest), rest)


def _completed(last: str) -> str:
    """Return the last piece as one that can be read; of a number or a word, who knows what followed."""
    if last in MARKS or _WHOLE_STRING.fullmatch(last):
        return last
    if not last.startswith('"'):
        return MISSING
    return _CUT_ESCAPE.sub(r"\1", last) + MISSING[1:]


def _value(piece: str, rest: Iterator[str]) -> Any:
    if piece == "{":
        return _object(rest)
    return _list(rest) if piece == "[" else json.loads(piece)


def _object(rest: Iterator[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for piece in rest:
        if piece == "}":
            return found
        if piece != ",":
            next(rest, ":")
            found[json.loads(piece)] = _value(next(rest, MISSING), rest)
    return found | {CUT: CUT}


def _list(rest: Iterator[str]) -> list[Any]:
    found: list[Any] = []
    for piece in rest:
        if piece == "]":
            return found
        if piece != ",":
            found.append(_value(piece, rest))
    return [*found, CUT]
