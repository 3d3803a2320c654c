"""The field that asks for one argument, by what the handler's signature says of it."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from .. import payload, stats
from .forms import LINE

OMITTED = object()
EMPTY = inspect.Parameter.empty
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class JSONText(forms.CharField):
    """Any JSON value. What is left empty is no value at all, which is not the same as null."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.Textarea({"class": "vLargeTextField jobs-json", "rows": 2, "spellcheck": "false"})
        super().__init__(widget=widget, **kwargs)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return OMITTED
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValidationError(_('This is not JSON (%s). Text goes in quotes, as in "abc".') % error) from error
        # Before anything walks through it.
        if payload.is_too_deep(found):
            raise ValidationError(_("This is nested deeper than %d levels.") % payload.MAX_DEPTH)
        return found


class WholeText(forms.CharField):
    """Text that is kept as it is."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, widget=forms.TextInput(LINE), **kwargs)


class Choice(forms.TypedChoiceField):
    """One of a few values, of whatever type."""

    def __init__(self, values: Mapping[str, Any], **kwargs: Any) -> None:
        choices = [(text, text) for text in values]
        nothing = [] if kwargs.get("required") else [("", "-")]
        super().__init__(choices=[*nothing, *choices], coerce=values.__getitem__, empty_value=None, **kwargs)


def field_for(parameter: inspect.Parameter, hint: Any, given: Any) -> forms.Field:
    """Return the field for ``parameter``, which begins with the value ``given``, or with the default."""
    is_hidden = given is not OMITTED and stats.masked({parameter.name: given}) != {parameter.name: given}
    options: dict[str, Any] = {
        "label": str(parameter).partition(":")[0].partition("=")[0].strip(),
        "required": parameter.default is EMPTY and parameter.kind not in VARIABLE and not is_hidden,
    }
    if is_hidden:
        return _typed(hint, options | {"help_text": _("It is masked. Left empty, it stays as it is.")}, is_hidden=True)
    default = None if parameter.default is EMPTY else parameter.default
    start = default if given is OMITTED else given
    return _typed(Any if parameter.kind in VARIABLE else hint, options, start=start)


def _typed(hint: Any, options: dict[str, Any], *, start: Any = None, is_hidden: bool = False) -> forms.Field:
    plain, is_optional = _without_none(hint)
    options |= {"required": options["required"] and not is_optional}
    if plain is str and (start is None or isinstance(start, str)):
        return WholeText(initial=start, **options)
    if plain is int and (start is None or type(start) is int):
        return forms.IntegerField(initial=start, **options)
    if plain is float and (start is None or type(start) in (int, float)):
        return forms.FloatField(initial=start, **options)
    choices = {"true": True, "false": False} if plain is bool else _literals(plain)
    if choices and (start is None or start in choices.values()) and not is_hidden:
        initial = next((text for text, value in choices.items() if value is start or value == start), None)
        return Choice(choices, initial=initial, **options)
    return JSONText(
        initial=_as_json(start), **({"help_text": _('JSON: 7, "text", true, null, [1, 2], {"a": 1}')} | options)
    )


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Split ``int | None`` into ``int`` and True."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    others = [member for member in typing.get_args(hint) if member is not type(None)]
    return (others[0] if len(others) == 1 else Any), len(others) < len(typing.get_args(hint))


def _literals(hint: Any) -> dict[str, Any]:
    return {str(value): value for value in typing.get_args(hint)} if typing.get_origin(hint) is typing.Literal else {}


def _as_json(value: Any) -> str:
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return ""
