"""What may be stored: arguments are refused unless JSON keeps them exactly; results and errors are made storable."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

from .exceptions import InvalidJob
from .numerals import grouped
from .translating import translated as _

JSON = Any
MAX_DEPTH = 100
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dumps(value: JSON) -> str:
    """Return compact JSON with non-ASCII characters as they are (half the size for most languages)."""
    text = _ENCODER.encode(value)
    return _LARGE_FLOAT.sub(_without_exponent, text) if "e+" in text else text


# A string, to be passed over, or a float from 1e16 up. PostgreSQL's jsonb would
# make a whole number of 1e+23, and one that is not equal to the float.
_LARGE_FLOAT = re.compile(r'"(?:[^"\\]|\\.)*"|-?[\d.]+e\+\d+')


def _without_exponent(match: re.Match[str]) -> str:
    token = match[0]
    return token if token.startswith('"') else f"{float(token):.1f}"


def check(value: JSON, name: str, *, max_bytes: int) -> str:
    """
    Return ``value`` as JSON text, or raise ``InvalidJob`` naming the path of what cannot be stored.

    Tuples become lists and whole-number keys become strings, as in any JSON;
    everything else either comes back equal or is refused.
    """
    if not _is_plain((value,), MAX_DEPTH):
        _walk(value, name, MAX_DEPTH)
    try:
        text = dumps(value)
        size = len(text) if text.isascii() else len(text.encode())
    except ValueError as error:
        _walk(value, name, MAX_DEPTH)
        raise InvalidJob(
            _("%(name)s cannot be written as JSON: %(error)s.") % {"name": name, "error": error}
        ) from error
    if "\\u0000" in text:
        _walk(value, name, MAX_DEPTH)
    if size > max_bytes:
        message = _(
            "%(name)s is %(size)s bytes of JSON; the limit is %(most)s (JOBS['PAYLOAD_MAX_BYTES']). "
            "Store the data elsewhere and pass its id."
        )
        raise InvalidJob(message % {"name": name, "size": grouped(size), "most": grouped(max_bytes)})
    return text


_SCALARS = frozenset({str, int, float, bool, type(None)})


def _is_plain(values: Iterable[JSON], depth: int) -> bool:
    """
    Say whether these are of JSON's own types, exactly, as nearly all are: then the text shows what else is wrong.

    ``_walk`` decides on all others, and names the path, but takes many times as long.
    """
    for value in values:
        kind = type(value)
        if kind in _SCALARS:
            continue
        if depth <= 0 or not (kind is list or (kind is dict and all(type(key) is str for key in value))):
            return False
        if not _is_plain(value if kind is list else value.values(), depth - 1):
            return False
    return True


def _walk(value: JSON, path: str, depth: int) -> None:
    if value is None or value is True or value is False:
        return
    if isinstance(value, Enum):
        raise InvalidJob(f"{path} is {value!r}: pass its .value.")
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, int | float):
        _check_number(value, path)
    elif isinstance(value, list | tuple | dict):
        _check_depth(path, depth)
        for place, item in _items(value, path):
            _walk(item, place, depth - 1)
    else:
        raise InvalidJob(
            f"{path} is a {type(value).__name__}, which JSON cannot hold: pass str(value), or a number, boolean, None, list or dict."
        )


def _items(value: Any, path: str) -> Iterator[tuple[str, JSON]]:
    if isinstance(value, dict):
        _check_keys(list(value), path)
        return ((f"{path}[{key!r}]", item) for key, item in value.items())
    return ((f"{path}[{index}]", item) for index, item in enumerate(value))


def _check_number(value: float, path: str) -> None:
    if not isinstance(value, int) and not math.isfinite(value):
        message = _("%(path)s is %(value)r, which JSON has no number for: pass None or a string.")
        raise InvalidJob(message % {"path": path, "value": value})


def _check_depth(path: str, depth: int) -> None:
    if depth <= 0:
        message = _("%(path)s… is nested deeper than %(most)d levels: store it elsewhere and pass its id.")
        raise InvalidJob(message % {"path": path[:80], "most": MAX_DEPTH})


def _check_keys(keys: list[Any], path: str) -> None:
    for key in keys:
        if isinstance(key, bool | Enum) or not isinstance(key, str | int):
            raise InvalidJob(f"{path} has the key {key!r}: use strings (whole numbers become strings).")
        if isinstance(key, str):
            _check_text(key, f"{path} key {key!r}")
    seen: set[str] = set()
    for name in map(str, keys):
        if name in seen:
            raise InvalidJob(f"{path} has two keys that are {name!r} in JSON: rename one.")
        seen.add(name)


def _check_text(text: str, path: str) -> None:
    if "\x00" in text:
        raise InvalidJob(_("%s contains a NUL character, which PostgreSQL cannot store: remove it.") % path)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            message = _(
                "%(path)s contains a lone surrogate (%(text)s), which UTF-8 cannot encode: decode the source properly."
            )
            raise InvalidJob(message % {"path": path, "text": ascii(text[:40])}) from None


def storable_text(text: str, *, most: int) -> str:
    """Return ``text`` with NUL and lone surrogates escaped visibly, cut in the middle to ``most`` characters and a note."""
    if len(text) > most:
        half = most // 2
        cut = len(text) - 2 * half
        text = f"{text[:half]}\n… {cut:,} characters cut …\n{text[half + cut :]}"
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


def storable_result(value: JSON, *, max_bytes: int) -> str:
    """
    Return a handler's result as JSON text, changed where it must be to be stored.

    NaN and infinities become their names, bad characters are escaped, and a
    result over ``max_bytes`` or ``MAX_DEPTH`` becomes a note that says so.
    Raises TypeError or ValueError for what JSON cannot hold at all.
    """
    try:
        text = _result_text(value)
        if "\\u0000" in text or not text.isascii():
            text = _result_text(_storable(value))
    except RecursionError:
        return TOO_DEEP
    if len(text.encode()) > max_bytes:
        return dumps({"omitted": f"The result is {len(text.encode()):,} bytes of JSON; the limit is {max_bytes:,}."})
    # What this Python can write, another, or the admin with its deeper stack, may be unable to read.
    if text.count("[") + text.count("{") > MAX_DEPTH and is_too_deep(value):
        return TOO_DEEP
    return text


TOO_DEEP = dumps({"omitted": f"The result is nested deeper than {MAX_DEPTH} levels."})


def is_too_deep(value: JSON) -> bool:
    """Say whether lists and objects stand in each other deeper than ``MAX_DEPTH``."""
    return _is_deeper(value, MAX_DEPTH)


def _is_deeper(value: JSON, levels: int) -> bool:
    if not isinstance(value, list | tuple | dict):
        return False
    items = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in items)


def _result_text(value: JSON) -> str:
    try:
        return dumps(value)
    except ValueError:
        return dumps(_storable(value))


def _storable(value: JSON) -> JSON:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return storable_text(value, most=len(value))
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return value
