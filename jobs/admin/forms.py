"""What is asked before something is done."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import router
from django.utils.translation import gettext_lazy as _

from .. import clock
from ..admission import LATEST
from ..exceptions import InvalidJob
from ..models import Job
from ..options import check_queue

LINE = {"class": "vTextField"}


class MomentInput(forms.DateTimeInput):
    """The browser's own way to ask for a time."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%dT%H:%M")


def queue_name(text: str) -> None:
    """Refuse what cannot name a queue."""
    try:
        check_queue(text)
    except InvalidJob as error:
        raise ValidationError(str(error)) from error


def to_come(moment: datetime) -> None:
    """Refuse a time that the database's clock has passed, or that it cannot store."""
    if moment.year > LATEST:
        raise ValidationError(_("Give a year up to %d.") % LATEST)
    if moment <= clock.read(router.db_for_write(Job)):
        raise ValidationError(_("This time has passed."))


class ReasonForm(forms.Form):
    """Why. Of the others that ask more, each has this as its last question."""

    reason = forms.CharField(label=_("Reason"), required=False, max_length=500, widget=forms.TextInput(LINE))

    def __init__(self, *args: Any, many: bool = False, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.order_fields([name for name in self.fields if name != "reason"])

    @property
    def asks_something(self) -> bool:
        """Whether there is more to fill in than a reason that may be left out."""
        return len(self.fields) > 1 or self.fields["reason"].required


class DiscardForm(ReasonForm):
    """Many are not given up without a reason."""

    def __init__(self, *args: Any, many: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, many=many, **kwargs)
        self.fields["reason"].required = many


class PostponeForm(ReasonForm):
    run_at = forms.DateTimeField(label=_("Not before"), widget=MomentInput, validators=[to_come])


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Return None for what was left empty, but for a reason, which is text."""
    return {name: None if value == "" and name != "reason" else value for name, value in values.items()}


class RerouteForm(ReasonForm):
    """What is left empty stays as it is."""

    queue = forms.CharField(
        label=_("Queue"), required=False, max_length=100, widget=forms.TextInput(LINE), validators=[queue_name]
    )
    priority = forms.IntegerField(
        label=_("Priority"),
        required=False,
        min_value=-100,
        max_value=100,
        help_text=_("-100 to 100; higher runs first."),
    )

    def clean(self) -> dict[str, Any]:
        values = _without_empty(self.cleaned_data)
        if not self.errors and values["queue"] is None and values["priority"] is None:
            raise ValidationError(_("Give a queue, a priority, or both."))
        return values


class PauseForm(ReasonForm):
    resume_at = forms.DateTimeField(
        label=_("Resume by itself at"),
        required=False,
        widget=MomentInput,
        validators=[to_come],
        help_text=_("Left empty, it stays paused until somebody resumes it."),
    )


class OptionsForm(ReasonForm):
    """How a job is to be enqueued. What is left empty is as the handler says."""

    run_at = forms.DateTimeField(label=_("Not before"), required=False, widget=MomentInput)
    delay = forms.FloatField(label=_("Or after seconds"), required=False, min_value=0)
    queue = RerouteForm.base_fields["queue"]
    priority = RerouteForm.base_fields["priority"]
    unique_key = forms.CharField(
        label=_("Unique key"),
        required=False,
        max_length=250,
        strip=False,
        widget=forms.TextInput(LINE),
        help_text=_("At most one job that has not ended holds a key."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, prefix="option", **kwargs)

    def clean(self) -> dict[str, Any]:
        values = _without_empty(self.cleaned_data)
        if values.get("run_at") is not None and values.get("delay") is not None:
            raise ValidationError(_("Give a time or a number of seconds, not both."))
        return values


def typed(word: str) -> forms.CharField:
    """Return a field that wants just this word, in whatever case."""

    def check(text: str) -> None:
        if text.casefold() != word.casefold():
            raise ValidationError(_("Type the words “%s”, or go back.") % word)

    return forms.CharField(
        label=_("Type “%s”") % word,
        widget=forms.TextInput({**LINE, "autocomplete": "off"}),
        validators=[check],
        help_text=_("So that nobody does this by mistake."),
    )
