"""Forms for the arguments of a job: a field for each parameter of its handler, or JSON where that is not known."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from ..registry import JobDefinition
from .argument_fields import EMPTY, OMITTED, JSONText, field_for

Arguments = tuple[list[Any], dict[str, Any]]
Parameters = Mapping[str, inspect.Parameter]


class ArgumentsForm(forms.Form):
    """
    One field for each parameter of a handler.

    ``given`` are arguments to begin with, by parameter. A parameter that has a
    default and is left as it was stays out, so that its default stays the
    code's; one whose given value is masked keeps it when left empty.
    """

    def __init__(self, data: Any, *, definition: JobDefinition[..., Any], given: Mapping[str, Any]) -> None:
        super().__init__(data, prefix="argument", label_suffix="")
        self.parameters = definition.signature.parameters
        self.given = given
        hints = _hints(definition)
        for name, parameter in self.parameters.items():
            self.fields[name] = field_for(parameter, hints.get(name, Any), given.get(name, OMITTED))

    def arguments(self) -> Arguments:
        """Return the positional and the keyword arguments, of a form that is valid."""
        values = {name: self._value(name) for name in self.parameters}
        return _sorted_out(self.parameters, {name: value for name, value in values.items() if value is not OMITTED})

    def clean(self) -> dict[str, Any]:
        for name, parameter in self.parameters.items():
            _check_shape(self, name, WANTED.get(parameter.kind))
        return self.cleaned_data

    def _value(self, name: str) -> Any:
        value, parameter = self.cleaned_data[name], self.parameters[name]
        if name not in self.changed_data:
            if name in self.given:
                return self.given[name]
            if parameter.default is not EMPTY:
                return OMITTED
        # For one that may be None and has no default, nothing is None.
        return None if value is OMITTED and parameter.default is EMPTY and parameter.kind not in WANTED else value


class RawArgumentsForm(forms.Form):
    """The arguments as they are stored. Of ``kept`` ones only that they are there is shown; left empty, they stay."""

    args = JSONText(label=_("Positional arguments"), required=False)
    payload = JSONText(label=_("Keyword arguments"), required=False)

    def __init__(self, data: Any, *, given: Mapping[str, Any], kept: Collection[str]) -> None:
        shown = {name: json.dumps(value, ensure_ascii=False) for name, value in given.items() if name not in kept}
        super().__init__(data, prefix="argument", label_suffix="", initial=shown)
        self.given = given
        for name in kept:
            self.fields[name].help_text = _("It is masked or large. Left empty, it stays as it is.")

    def arguments(self) -> Arguments:
        """Return the positional and the keyword arguments, of a form that is valid."""
        values = {
            name: self.given[name] if self.cleaned_data[name] is OMITTED else self.cleaned_data[name]
            for name in ("args", "payload")
        }
        return values["args"], values["payload"]

    def clean(self) -> dict[str, Any]:
        _check_shape(self, "args", list)
        _check_shape(self, "payload", dict)
        return self.cleaned_data


def _check_shape(form: forms.Form, name: str, wanted: type | None) -> None:
    value = form.cleaned_data.get(name, OMITTED)
    if wanted is None or value is OMITTED or isinstance(value, wanted):
        return
    form.add_error(name, _("Give a list, as in [1, 2].") if wanted is list else _('Give an object, as in {"a": 1}.'))


WANTED: dict[Any, type] = {inspect.Parameter.VAR_POSITIONAL: list, inspect.Parameter.VAR_KEYWORD: dict}


def bound(definition: JobDefinition[..., Any], args: list[Any], payload: dict[str, Any]) -> dict[str, Any]:
    """Return stored arguments by parameter; raise TypeError where the handler takes them no longer."""
    arguments = definition.signature.bind(*args, **payload).arguments
    return {name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()}


def _hints(definition: JobDefinition[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(definition.function)
    except Exception:  # noqa: BLE001 (annotations are the site's code, and may say anything)
        return {}


def _sorted_out(parameters: Parameters, values: dict[str, Any]) -> Arguments:
    """Share values out: by name where that can be, by position where it must be."""
    kinds = inspect.Parameter
    has_more = any(values.get(name) for name, each in parameters.items() if each.kind is kinds.VAR_POSITIONAL)
    by_place = {kinds.POSITIONAL_ONLY, *([kinds.POSITIONAL_OR_KEYWORD] if has_more else [])}
    args = [values.get(name, OMITTED) for name, each in parameters.items() if each.kind in by_place]
    while args and args[-1] is OMITTED and not has_more:
        args.pop()
    defaults = [each.default for each in parameters.values() if each.kind in by_place]
    args = [default if value is OMITTED else value for value, default in zip(args, defaults, strict=False)]
    payload: dict[str, Any] = {}
    for name, each in parameters.items():
        if each.kind is kinds.VAR_POSITIONAL:
            args += values.get(name, [])
        elif each.kind is kinds.VAR_KEYWORD:
            payload |= values.get(name, {})
        elif each.kind not in by_place and name in values:
            payload[name] = values[name]
    return args, payload
