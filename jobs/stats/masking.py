"""Hiding what stands under a sensitive key, for whoever looks: ``JOBS["MASKED_KEYS"]`` says which those are."""

from __future__ import annotations

import inspect
import json
from typing import Any

from .. import registry
from ..conf import settings

MASK = "••••••"


def masked(value: Any) -> Any:
    """Return a JSON value with all that stands under a sensitive key hidden, however deep."""
    if isinstance(value, dict):
        return {key: MASK if is_sensitive(key) else masked(inner) for key, inner in value.items()}
    return [masked(inner) for inner in value] if isinstance(value, list) else value


def masked_args(kind: str, args: list[Any]) -> list[Any]:
    """Return positional arguments likewise; the handler of ``kind``, where it is known, has the names for them."""
    names = _positional_names(kind, len(args))
    return [MASK if is_sensitive(name) else masked(value) for name, value in zip(names, args, strict=True)]


def is_sensitive(name: str) -> bool:
    """Say whether ``name`` contains one of the masked keys; case and punctuation do not matter."""
    plain = _plain(name)
    return any(_plain(word) in plain for word in settings.masked_keys)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _positional_names(kind: str, count: int) -> list[str]:
    definition = registry.find(kind)
    parameters = list(definition.signature.parameters.values()) if definition else []
    names = [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL][:count]
    rest = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.VAR_POSITIONAL]
    return names + (rest or [""]) * (count - len(names))


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def restored(shown: Any, stored: Any) -> Any:
    """
    Return what somebody typed over masked values, with what they left masked as it is ``stored``.

    A list that was changed is taken as it was typed, masks included, since
    nobody knows which of its values moved where.
    """
    if not isinstance(shown, dict) or not isinstance(stored, dict):
        return stored if _is_same(shown, masked(stored)) else shown
    return {key: _restored_under(key, inner, stored[key]) if key in stored else inner for key, inner in shown.items()}


def _restored_under(key: str, shown: Any, stored: Any) -> Any:
    return stored if is_sensitive(key) and shown == MASK else restored(shown, stored)


def _is_same(one: Any, other: Any) -> bool:
    """Compare JSON values, in which true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def has_mask(value: Any) -> bool:
    """Say whether a mask stands somewhere in a JSON value, where it would be stored as if it were one."""
    if isinstance(value, dict):
        return any(has_mask(inner) for inner in value.values())
    return any(has_mask(inner) for inner in value) if isinstance(value, list) else value == MASK
