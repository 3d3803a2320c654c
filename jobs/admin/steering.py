"""Admins whose rows people act on: from the list, for those that are ticked, and from the page of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.functional import lazy
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from .. import stats
from ..numerals import grouped
from ..operations import Actor
from ..reports import Sentence
from ..stats import counts
from .actions import Action, Offer, Text
from .base import ReadOnlyAdmin

MOST_SAMPLES = 10


class SteeredAdmin(ReadOnlyAdmin):
    """Base of the admins whose rows people act on; ``steering`` is what they can do."""

    steering: Sequence[Action] = ()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.actions = [self._listed(action) for action in self.steering]

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        do = path("<path:object_id>/do/<str:action>/", self.admin_site.admin_view(self.do_view), name=name)
        return [do, *super().get_urls()]

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> Any:
        """Leave out what the user may not do. (Before 6.1, Django has no ``action_location``.)"""
        where = () if action_location is None else (action_location,)
        barred = {action.name for action in self.steering if not self.may(request, action.permission)}
        found = super().get_actions(request, *where)
        return {name: action for name, action in found.items() if name not in barred}

    def may(self, request: HttpRequest, codename: str) -> bool:
        """Say whether the user has this permission of ours, beside that to look."""
        return self.has_view_permission(request) and request.user.has_perm(f"{self.opts.app_label}.{codename}")

    def why_not(self, request: HttpRequest, action: Action, row: Any) -> Text:
        """Return what stands against doing ``action`` to ``row``, or nothing."""
        return action.why_not(row)

    def fitted(self, action: Action, row: Any) -> Action:
        """Return the action as it is worded for ``row``."""
        return action

    def warned(self, action: Action, rows: QuerySet[Any]) -> Action:
        """Return the action with what should be known of ``rows`` before it is done."""
        return action

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Refuse, rather than overlook, an action that the user was not offered."""
        asked = request.POST.get("action")
        if request.method == "POST" and (asked or not self.get_actions(request)):
            if asked not in self.get_actions(request):
                raise PermissionDenied
            if any("#" in pk or stats.as_id(pk) is None for pk in request.POST.getlist(ACTION_CHECKBOX_NAME)):
                raise BadRequest("A ticked row has no id.")
        return super().changelist_view(request, extra_context)

    def do_view(self, request: HttpRequest, object_id: str, action: str) -> HttpResponse:
        """Ask (GET) about, or do (POST), ``action`` to one row, and return to its page."""
        chosen = self.permitted(request, action)
        row = self.row(request, object_id)
        chosen = self.fitted(chosen, row)
        back = self.kept(request, self.url(self.model, "change", row.pk))
        why_not = self.why_not(request, chosen, row)
        if why_not:
            self.tell(request, Sentence(str(why_not), is_good=False))
            return HttpResponseRedirect(back)
        form = chosen.form(request.POST if request.method == "POST" else None, initial=chosen.initial(row))
        rows = self.get_queryset(request).filter(pk=row.pk)
        if form.is_valid():
            self._do(request, chosen, rows, form)
            return HttpResponseRedirect(back)
        what = f"{self.opts.verbose_name} {row}"
        return self._question(request, self.warned(chosen, rows), form, what=what, back_url=back, original=row)

    def permitted(self, request: HttpRequest, name: str) -> Action:
        """Return the action of that name; refuse what does not exist, as what the user may not do."""
        chosen = next((one for one in self.steering if one.name == name), None)
        if chosen is None or not self.may(request, chosen.permission):
            raise PermissionDenied
        return chosen

    def row(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row that an address names."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404(f"There is no {self.opts.verbose_name} {object_id!r}.")
        return row

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        context["offers"] = self.offers(request, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def offers(self, request: HttpRequest, row: Any) -> list[Offer]:
        """Return the buttons of the page of ``row``: what the user may do, with what stands against it."""
        return [
            Offer(
                name=action.name,
                label=action.label,
                url=self.kept(request, self.url(self.model, "do", row.pk, action.name)),
                why_not=self.why_not(request, action, row),
                asks=action.asks,
                is_danger=action.is_danger,
            )
            for action in (self.fitted(action, row) for action in self.steering)
            if self.may(request, action.permission)
        ]

    def kept(self, request: HttpRequest, url: str) -> str:
        """Add the filters of the list that the user came from."""
        context: Any = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        return add_preserved_filters(context, url)

    def tell(self, request: HttpRequest, *sentences: Sentence) -> None:
        for sentence in sentences:
            level = messages.SUCCESS if sentence.is_good else messages.WARNING
            self.message_user(request, sentence.text, level)

    def do_many(self, request: HttpRequest, action: Action, rows: QuerySet[Any]) -> HttpResponse | None:
        """Ask about, or do, ``action`` to what was chosen in the list."""
        # No more than the list has counted, and so has told the user of.
        chosen = (rows if request.POST.get("select_across") == "1" else self._ticked(request))[: counts.MOST]
        count = chosen.count()
        if not count:
            self.tell(request, Sentence(_("Nothing of what was chosen is there any more."), is_good=False))
            return None
        form = action.form(request.POST if "confirmed" in request.POST else None, many=True)
        if form.is_valid():
            self._do(request, action, chosen, form)
            return None
        noun = self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural
        return self._question(
            request,
            self.warned(action, chosen),
            form,
            what=f"{grouped(count)} {noun}",
            back_url=request.get_full_path(),
            samples=[str(row) for row in chosen[:MOST_SAMPLES]],
            more=count - MOST_SAMPLES,
            kept={
                "action": [action.name],
                "select_across": [request.POST.get("select_across", "0")],
                ACTION_CHECKBOX_NAME: request.POST.getlist(ACTION_CHECKBOX_NAME),
                "confirmed": ["yes"],
            },
        )

    def _ticked(self, request: HttpRequest) -> QuerySet[Any]:
        """Return what was ticked, whether it still matches the filters or not: it is told of, not overlooked."""
        ids = {stats.as_id(pk) for pk in request.POST.getlist(ACTION_CHECKBOX_NAME)}
        return self.get_queryset(request).filter(pk__in=ids)

    def _listed(self, action: Action) -> Callable[..., HttpResponse | None]:
        """Return ``action`` as Django's lists have theirs."""

        def act(admin: SteeredAdmin, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
            return admin.do_many(request, action, rows)

        act.__name__ = action.name
        words: Any = act
        words.short_description = lazy(lambda: capfirst(action.on(_("selected %(verbose_name_plural)s"))), str)()
        return act

    def _do(self, request: HttpRequest, action: Action, rows: QuerySet[Any], form: Any) -> None:
        self.tell(request, *action.run(rows, actor=Actor.of(request.user), **form.cleaned_data))

    def _question(self, request: HttpRequest, action: Action, form: Any, *, what: str, **more: Any) -> HttpResponse:
        return self.page(request, "confirm.html", title=action.on(what), action=action, form=form, **more)
