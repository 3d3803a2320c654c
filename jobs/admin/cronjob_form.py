"""The form for schedules: it refuses field by field, hides what is masked, and overwrites nobody's change unseen."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from .. import registry, stats
from ..conf import settings
from ..declarations import DECLARED
from ..models import CronJob
from .cronjob_fields import Document, LongSelect, kind_widget, startable_kinds, zone_choices

SALT = "jobs.cronjob"
CODE = {"spellcheck": "false", "autocomplete": "off", "class": "vTextField jobs-code"}
# What a preview of the rule is made of.
RULE = ("expression", "every", "timezone", "enabled", "starts_at", "ends_at", "jitter")


class CronJobForm(forms.ModelForm):  # type: ignore[type-arg]
    """``user`` is whose permissions count. A form that ``is_preview`` is never valid, so that nothing is saved."""

    user: ClassVar[Any] = None
    may_toggle: ClassVar[bool] = True
    is_preview: ClassVar[bool] = False

    kind = forms.CharField(label=gettext_lazy("Kind"), max_length=200)
    args = Document(
        list,
        rows=2,
        label=gettext_lazy("Positional arguments"),
        help_text=gettext_lazy('A JSON list, as in [1, "text"]. Most handlers need none.'),
    )
    payload = Document(
        dict, label=gettext_lazy("Keyword arguments"), help_text=gettext_lazy('A JSON object, as in {"region": "eu"}.')
    )
    metadata = Document(
        dict,
        label=gettext_lazy("Metadata"),
        help_text=gettext_lazy("A JSON object that its jobs carry; handlers see it."),
    )
    timezone = forms.CharField(
        label=gettext_lazy("Time zone"),
        widget=LongSelect,
        help_text=gettext_lazy("Of the cron expression. An interval takes no notice of it."),
    )
    expression = forms.CharField(
        label=gettext_lazy("Cron expression"),
        required=False,
        max_length=255,
        widget=forms.TextInput(CODE),
        help_text=CronJob._meta.get_field("expression").help_text,
    )
    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored = _digest(self.instance)
        self.initial["seen"] = self.stored
        for name in ("args", "payload", "metadata"):
            self.initial[name] = self._masked(name)
            if self.initial[name] != getattr(self.instance, name):
                self.fields[name].help_text = _("Where you leave ••••••, what is masked stays as it is.")
        kinds = startable_kinds(self.user.has_perm)
        self.fields["kind"].widget = kind_widget(kinds, is_open=settings.allow_unknown_kinds)
        zone: Any = self.fields["timezone"].widget
        zone.choices = zone_choices()
        self.initial.setdefault("timezone", self.instance.timezone)
        if "unique_key" in self.fields:
            self.fields["unique_key"].strip = False  # type: ignore[attr-defined]
        self._name_parts_of_times()
        self._disable()

    def is_valid(self) -> bool:
        return super().is_valid() and not self.is_preview

    def clean_kind(self) -> str:
        kind: str = self.cleaned_data["kind"]
        definition = registry.find(kind)
        permission = definition.options.permission if definition else None
        if permission is not None and not self.user.has_perm(permission):
            raise ValidationError(_("Whoever starts jobs of this kind needs the permission %s.") % permission)
        return kind

    def clean_args(self) -> Any:
        return self._unmasked("args")

    def clean_payload(self) -> Any:
        return self._unmasked("payload")

    def clean_metadata(self) -> Any:
        return self._unmasked("metadata")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance.pk is None:
            return values
        if values.get("seen") not in ("", None, self.stored):
            self._ask_again()
        # As it is stored: a form leaves out the microseconds of a start, and the schedule would be planned anew.
        kept = set(values) - set(self.changed_data) - {"seen"}
        return values | {name: getattr(self.instance, name) for name in kept}

    def _ask_again(self) -> None:
        again: Any = self.data.copy()  # type: ignore[attr-defined]
        again["seen"] = self.stored
        self.data = again
        raise ValidationError(
            _(
                "This schedule was changed since you opened this page. Look below at by whom; save again to overwrite it."
            )
        )

    def _name_parts_of_times(self) -> None:
        """Tell the two inputs of a time apart for those who do not see them side by side; before 6.1, Django does not."""
        for name in ("starts_at", "ends_at"):
            if name in self.fields:
                widget: Any = self.fields[name].widget
                label = {"label": self.fields[name].label}
                for part, words in zip(widget.widgets, (_("%(label)s, date"), _("%(label)s, time")), strict=True):
                    part.attrs["aria-label"] = words % label

    def _disable(self) -> None:
        """Let nobody change what they may not. (Whoever may only look has few fields.)"""
        if "name" in self.fields and self.instance.origin == CronJob.Origin.CODE:
            self.fields["name"].disabled = True
            self.fields["name"].help_text = _("Code knows it by this name.")
        if "enabled" in self.fields and self.instance.pk is not None:
            self.fields["enabled"].disabled = not self.may_toggle

    def _masked(self, name: str) -> Any:
        value = getattr(self.instance, name)
        return stats.masked_args(self.instance.kind, value) if name == "args" else stats.masked(value)

    def _unmasked(self, name: str) -> Any:
        """Put back what stands behind the masks that were left, and refuse one that stands for nothing."""
        stored = getattr(self.instance, name)
        if name not in self.changed_data:
            return stored
        value = stats.restored(self.cleaned_data[name], stored)
        if stats.has_mask(value):
            raise ValidationError(
                _("Type what is masked in a list, or is new, in full: •••••• stands for nothing here.")
            )
        return value

    def _update_errors(self, errors: Any) -> None:
        """Leave out what the model says of a field that was refused before it got there."""
        said = dict(getattr(errors, "error_dict", {}))
        refused = set(self.errors) | ({"expression"} if "every" in self.errors else set())
        for name in refused & set(said):
            del said[name]
        if said or not hasattr(errors, "error_dict"):
            super()._update_errors(ValidationError(said) if said else errors)  # type: ignore[misc]


def _digest(schedule: CronJob) -> str:
    """Return what tells whether a person's part of a schedule has changed."""
    values = [getattr(schedule, name) for name in ("name", *DECLARED)]
    # Salted, since what is masked is in it: nobody who sees it can try values out.
    text = json.dumps(values, cls=DjangoJSONEncoder, sort_keys=True)
    return salted_hmac(SALT, text, algorithm="sha256").hexdigest()[:32]
