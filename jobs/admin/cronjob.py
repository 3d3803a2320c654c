"""Schedules: the list, and the page of one, where it is seen, edited and steered."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db import router
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from .. import operations, stats
from ..models import CronJob
from ..operations import Actor
from ..stats import Document, masked, masked_args
from . import cronjob_page, cronjob_preview, cronjob_shown, shown
from .actions import Action, Offer, Text, kind_why_not
from .cronjob_actions import ACTIONS, with_warning
from .cronjob_form import RULE, CronJobForm
from .cronjob_list import CronJobChangeList, OriginFilter, StandingFilter
from .steering import SteeredAdmin

DOCUMENTS = ("args", "payload", "metadata")
# The names that the fields of the rule have in the page, where a time has two.
TIMES = ("starts_at", "ends_at")
PREVIEWED = " ".join(f"{name}_0 {name}_1" if name in TIMES else name for name in RULE)
OPTIONS = (("queue", "priority"), ("max_attempts", "timeout"), ("unique_key", "expires_after"))


@admin.register(CronJob)
class CronJobAdmin(SteeredAdmin):
    form = CronJobForm
    steering = ACTIONS
    list_display = ("named", "when", "next_run", "last_run")
    list_filter = (StandingFilter, OriginFilter)
    ordering = ("name",)
    search_fields = ("name", "kind")
    search_help_text = _("A part of the name or the kind.")

    class Media:
        js = ["jobs/schedule.js"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return stats.with_times(super().get_queryset(request))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return CronJobChangeList

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[QuerySet[Any], bool]:
        """Find nothing by a null character, which the list refuses, but Django's autocompletion does not."""
        return (
            (queryset.none(), False)
            if "\0" in search_term
            else super().get_search_results(request, queryset, search_term)
        )

    def get_urls(self) -> list[URLPattern]:
        preview = path("preview/", self.admin_site.admin_view(self.preview_view), name="jobs_cronjob_preview")
        return [preview, *super().get_urls()]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_add_permission(self, request)

    def has_change_permission(self, request: HttpRequest, obj: CronJob | None = None) -> bool:
        """Refuse whoever may not start jobs of its kind: an edit decides when they start, and with what."""
        return ModelAdmin.has_change_permission(self, request, obj) and not (obj and kind_why_not(request, obj.kind))

    def has_delete_permission(self, request: HttpRequest, obj: CronJob | None = None) -> bool:
        return ModelAdmin.has_delete_permission(self, request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        may_edit = self.has_add_permission(request) if obj is None else self.has_change_permission(request, obj)
        args, payload, metadata = DOCUMENTS if may_edit else (f"{name}_shown" for name in DOCUMENTS)
        return (
            (None, {"fields": ("name", "kind", "enabled")}),
            (
                _("When it runs"),
                {
                    "classes": ("jobs-rule",),
                    "fields": (("expression", "every"), "timezone", ("starts_at", "ends_at"), "jitter"),
                    "description": _(
                        "A cron expression or an interval: one of the two. Start and end are on the clock of %s."
                    )
                    % get_current_timezone_name(),
                },
            ),
            (_("Arguments"), {"fields": (payload, args)}),
            (
                _("Missed and overlapping runs"),
                {"fields": (("catch_up", "catch_up_limit", "catch_up_window"), "overlap")},
            ),
            (
                _("Options of its jobs"),
                {
                    "classes": ("collapse",),
                    "fields": (*OPTIONS, metadata),
                    "description": _("What is left empty is as the handler says."),
                },
            ),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        return tuple(f"{name}_shown" for name in DOCUMENTS)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 (Django's)
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        facts = {
            "user": request.user,
            "may_toggle": self.may(request, "toggle_cronjob"),
            "is_preview": "_preview" in request.POST,
        }
        return type(form.__name__, (form,), facts)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 (Django's)
        """Save; whether it is enabled goes the way of the buttons, which leaves an event."""
        enabled = obj.enabled
        if not change or "enabled" not in form.changed_data:
            obj.save()
            return
        obj.enabled = not enabled
        obj.save()
        toggle = operations.enable if enabled else operations.disable
        toggle(CronJob.objects.using(obj._state.db).filter(pk=obj.pk), actor=Actor.of(request.user))
        obj.refresh_from_db()

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,  # noqa: FBT001, FBT002 (Django's)
        change: bool = False,  # noqa: FBT001, FBT002
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        form = context["adminform"].form
        # What was typed is on the row by now, and the page has to say how it is stored.
        stored = self.get_queryset(request).get(pk=obj.pk) if obj and form.is_bound else obj
        now = stored.read_now if stored else cronjob_preview.aware_now(router.db_for_write(CronJob))
        context["original"] = stored
        context["page"] = cronjob_page.page(self, stored) if stored else None
        context["preview_fields"] = PREVIEWED
        context["preview_url"] = self.url(CronJob, "preview") if self._may_edit(request, stored) else ""
        if form.is_bound:
            context["preview"] = cronjob_preview.of_input(form.fields, form.data, stored=stored, now=now)
        elif stored:
            context["preview"] = cronjob_preview.of_stored(stored, now=now)
        return super().render_change_form(request, context, add=add, change=change, form_url=form_url, obj=obj)

    def _may_edit(self, request: HttpRequest, row: CronJob | None) -> bool:
        return self.has_add_permission(request) if row is None else self.has_change_permission(request, row)

    @method_decorator(require_GET)
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Return the preview of what is being typed, as a part of a page."""
        if not (self.has_view_or_change_permission(request) or self.has_add_permission(request)):
            raise PermissionDenied
        stored = self.get_queryset(request).filter(pk=stats.as_id(request.GET.get("schedule", ""))).first()
        now = stored.read_now if stored else cronjob_preview.aware_now(router.db_for_write(CronJob))
        fields = self.get_form(request, fields=RULE)().fields
        preview = cronjob_preview.of_input(fields, request.GET, stored=stored, now=now)
        return TemplateResponse(request, "admin/jobs/cronjob/_preview.html", {"preview": preview})

    def offers(self, request: HttpRequest, row: CronJob | None) -> list[Offer]:
        return [] if row is None else super().offers(request, row)

    def why_not(self, request: HttpRequest, action: Action, row: CronJob) -> Text:
        """Add that the kind of its jobs may have a permission of its own."""
        return super().why_not(request, action, row) or (kind_why_not(request, row.kind) if action.starts else "")

    def warned(self, action: Action, rows: QuerySet[CronJob]) -> Action:
        return with_warning(action, rows)

    @admin.display(description=_("name"))
    def named(self, schedule: CronJob) -> SafeString:
        return cronjob_shown.name(schedule)

    @admin.display(description=_("when"))
    def when(self, schedule: CronJob) -> SafeString:
        return cronjob_shown.rule(schedule)

    @admin.display(description=_("next run"))
    def next_run(self, schedule: Any) -> SafeString:
        return cronjob_shown.next_run(self, schedule, schedule.predecessors)

    @admin.display(description=_("last run"))
    def last_run(self, schedule: Any) -> SafeString | str:
        return cronjob_shown.last_run(self, schedule, schedule.last_job)

    @admin.display(description=_("positional arguments"))
    def args_shown(self, schedule: CronJob) -> SafeString:
        return _document("args", masked_args(schedule.kind, schedule.args))

    @admin.display(description=_("keyword arguments"))
    def payload_shown(self, schedule: CronJob) -> SafeString:
        return _document("payload", masked(schedule.payload))

    @admin.display(description=_("metadata"))
    def metadata_shown(self, schedule: CronJob) -> SafeString:
        return _document("metadata", masked(schedule.metadata))


def _document(name: str, value: Any) -> SafeString:
    return shown.pretty(Document(name=name, value=value, chars=0, is_cut=False, is_masked=False))
