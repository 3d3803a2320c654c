"""The fields of the form for schedules that Django has not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from .. import registry
from ..models.cron import site_timezone
from .argument_fields import OMITTED, JSONText
from .forms import LINE

# Of the host that the site happens to run on, or no zone at all.
NO_ZONES = frozenset({"Factory", "localtime"})


class Document(JSONText):
    """A JSON value that is shown with its structure. What is left empty is ``nothing()``."""

    def __init__(self, nothing: Callable[[], Any], *, rows: int = 5, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)
        self.widget.attrs["rows"] = rows
        self.nothing = nothing

    def prepare_value(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        return "" if not value else json.dumps(value, indent=2, ensure_ascii=False)

    def clean(self, value: Any) -> Any:
        found = super().clean(value)
        return self.nothing() if found is OMITTED else found

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return _written(self.clean(data)) != _written(initial or self.nothing())
        except ValidationError:
            return True


def _written(value: Any) -> str:
    """Return JSON by which true and 1 are told apart."""
    return json.dumps(value, sort_keys=True)


class OpenSelect(forms.Select):
    """A select that keeps a value which is none of its choices: the model says whether it may stay."""

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        known = {str(choice) for choice, label in self.choices}
        strange = [(each, each) for each in value if each and each not in known]
        self.choices = [*self.choices, *strange]
        return super().optgroups(name, value, attrs)


class LongSelect(OpenSelect):
    """A select of hundreds, whose options do not each take a template of their own: half a page's time."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        widget = self.get_context(name, value, attrs)["widget"]
        options = (
            (option["value"], flatatt({"selected": bool(option["selected"])}), option["label"])
            for _, group, _ in widget["optgroups"]
            for option in group
        )
        return format_html(
            '<select name="{}"{}>{}</select>',
            name,
            flatatt(widget["attrs"]),
            format_html_join("\n", '<option value="{}"{}>{}</option>', options),
        )


class KindInput(forms.TextInput):
    """Free text, for a site whose handlers are elsewhere, with the kinds that are known here to choose from."""

    def __init__(self, kinds: Iterable[str]) -> None:
        super().__init__(LINE | {"list": "jobs-kinds", "spellcheck": "false", "autocomplete": "off"})
        self.kinds = list(kinds)

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        options = format_html_join("", '<option value="{}"></option>', ((kind,) for kind in self.kinds))
        return format_html('{}<datalist id="jobs-kinds">{}</datalist>', super().render(*args, **kwargs), options)


def kind_widget(kinds: Iterable[str], *, is_open: bool) -> forms.Widget:
    """Return what asks for a kind; where it ``is_open``, others than these are taken too."""
    if is_open:
        return KindInput(kinds)
    return OpenSelect(choices=[("", _("Choose a kind")), *((kind, kind) for kind in kinds)])


def startable_kinds(permits: Callable[[str], bool]) -> list[str]:
    """Return the kinds that somebody with these permissions may start, without the older names of the same."""
    barred = set(registry.barred(permits))
    return [kind for kind in registry.kinds() if kind not in barred and registry.resolve(kind).kind == kind]


@lru_cache(maxsize=1)
def _zones() -> list[str]:
    return sorted(available_timezones() - NO_ZONES)


def zone_choices() -> list[tuple[str, Any]]:
    """Return the names of all zones, that of the site and UTC first."""
    first = list(dict.fromkeys([site_timezone(), "UTC"]))
    names = [*first, *(name for name in _zones() if name not in first)]
    return [(name, name) for name in names]
