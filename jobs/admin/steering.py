"""Actions with a reason, for the rows ticked in a list and, as buttons, for the row of one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME, ActionForm
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from .. import stats
from ..operations import Actor
from ..payload import storable_text
from ..reports import Sentence
from .base import CappedPaginator, ReadOnlyAdmin


class ReasonForm(ActionForm):
    """The box above a list, with room to say why."""

    reason = forms.CharField(label=_("Reason:"), required=False, max_length=500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A button on the page of one row. ``why_not`` says what stands against it, and is empty if nothing does."""

    label: str | Promise
    url: str
    why_not: str | Promise


class SteeredAdmin(ReadOnlyAdmin):
    """
    Base of the admins whose rows people act on.

    ``buttons`` maps the name of an action to what its button says. An action
    that lists permission ``y`` needs ``<app>.y_<model>``.
    """

    action_form = ReasonForm
    buttons: Mapping[str, str | Promise] = {}

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        do = path("<path:object_id>/do/<str:action>/", self.admin_site.admin_view(self.do_view), name=name)
        return [do, *super().get_urls()]

    def may(self, request: HttpRequest, codename: str) -> bool:
        """Say whether the user has this permission of ours, beside that to look."""
        return self.has_view_permission(request) and request.user.has_perm(f"{self.opts.app_label}.{codename}")

    def why_not(self, action: str, row: Any) -> str | Promise:
        """Return what stands against doing ``action`` to ``row``, or nothing."""
        raise NotImplementedError  # pragma: no cover (each admin has its own)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Refuse, rather than overlook, an action that the user was not offered."""
        asked = request.POST.get("action")
        if request.method == "POST" and (asked or not self.get_actions(request)):
            self._refuse_unless_allowed(request, asked)
        if any(stats.as_id(pk) is None for pk in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise BadRequest("A ticked row has no id.")
        return super().changelist_view(request, extra_context)

    @method_decorator(require_POST)
    def do_view(self, request: HttpRequest, object_id: str, action: str) -> HttpResponse:
        """Do ``action`` to one row and return to its page."""
        self._refuse_unless_allowed(request, action if action in self.buttons else None)
        row = self.row(request, object_id)
        getattr(self, action)(request, self.get_queryset(request).filter(pk=row.pk))
        return HttpResponseRedirect(self._kept(request, self.url(self.model, "change", row.pk)))

    def row(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row that an address names."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404(f"There is no {self.opts.verbose_name} {object_id!r}.")
        return row

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["offers"] = self._offers(request, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def chosen(self, queryset: QuerySet[Any]) -> Any:
        """Return no more rows than the list has counted, and so has told the user of."""
        return queryset[: CappedPaginator.most]

    def decision(self, request: HttpRequest) -> dict[str, Any]:
        """Return who asks, and why, as ``operations`` take it."""
        reason = storable_text(request.POST.get("reason", "").strip(), most=500)
        return {"actor": Actor.of(request.user), "reason": reason}

    def tell(self, request: HttpRequest, *sentences: Sentence) -> None:
        for sentence in sentences:
            level = messages.SUCCESS if sentence.is_good else messages.WARNING
            self.message_user(request, sentence.text, level)

    def _refuse_unless_allowed(self, request: HttpRequest, action: str | None) -> None:
        if action not in self.get_actions(request):
            raise PermissionDenied

    def _offers(self, request: HttpRequest, row: Any) -> list[Offer]:
        allowed = self.get_actions(request)
        return [
            Offer(
                label=label,
                url=self._kept(request, self.url(self.model, "do", row.pk, action)),
                why_not=self.why_not(action, row),
            )
            for action, label in self.buttons.items()
            if action in allowed
        ]

    def _kept(self, request: HttpRequest, url: str) -> str:
        """Add the filters of the list that the user came from."""
        context: Any = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        return add_preserved_filters(context, url)
