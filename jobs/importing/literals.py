"""Arguments that django-q2 keeps as Python literals, read without running any of it."""

from __future__ import annotations

import ast
from typing import Any

from ..exceptions import InvalidSchedule


def arguments(text: str | None) -> list[Any]:
    """Return the positional arguments of a text such as ``1, 'two'``; raise ``InvalidSchedule`` if it is not that."""
    if not text:
        return []
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        raise InvalidSchedule(f"Its args {text!r} are no Python literals such as 1, 'two'.") from None
    return list(value) if isinstance(value, tuple) else [value]


def keywords(text: str | None) -> dict[str, Any]:
    """Return the keyword arguments of a text such as ``{'x': 1}`` or ``x=1``; raise ``InvalidSchedule`` as above."""
    try:
        value = _keywords(text.strip()) if text else {}
    except (ValueError, SyntaxError):
        value = None
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise InvalidSchedule(f"Its kwargs {text!r} are no Python literals such as {{'x': 1}} or x=1.")
    return value


def _keywords(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        call = ast.parse(f"f({text})", mode="eval").body
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        raise ValueError(text)
    return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
