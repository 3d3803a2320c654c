"""What all our pages share: they look, they never write, and they count no further than they must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import router
from django.db.models import Model, QuerySet
from django.forms import Media
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from .. import stats
from ..exceptions import TooSlow
from ..stats import Count, counts
from . import shown

if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyPaginator = Paginator[Any]
else:
    AnyModelAdmin = admin.ModelAdmin
    AnyPaginator = Paginator

FORMS = Media(css={"all": ["admin/css/forms.css"]})


class CappedPaginator(AnyPaginator):
    """Counts no further than ``stats.Count``; later pages cannot be asked for."""

    object_list: QuerySet[Any]

    @cached_property
    def counted(self) -> Count:
        # In the order of the list, which an index has; without, PostgreSQL may choose to walk through the table.
        return Count.of(self.object_list.values("pk")[: counts.MOST + 1].count())

    @cached_property
    def count(self) -> int:
        return self.counted.number


class FixedOrderChangeList(ChangeList):
    """Takes no order from the URL, where any column might be named."""

    model_admin: ReadOnlyAdmin

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return list(self.model_admin.get_ordering(request))

    def get_filters(self, request: HttpRequest) -> Any:
        """Leave no room for filters where all of them are chosen elsewhere on the page."""
        specs, _, *rest = super().get_filters(request)
        return specs, not all(getattr(spec, "is_hidden", False) for spec in specs), *rest


class ReadOnlyAdmin(AnyModelAdmin):
    """Base of our admins. ``large_columns`` stay in the database; what a page shows of them it asks ``stats`` for."""

    large_columns: Sequence[str] = ()
    list_select_related = False
    list_per_page = 100
    list_max_show_all = 100
    ordering = ("-pk",)
    paginator = CappedPaginator
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    sortable_by = ()

    class Media:
        css = {"all": ["jobs/admin.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Read where the engine writes: a replica may not know of a new job yet."""
        return super().get_queryset(request).using(router.db_for_write(self.model)).defer(*self.large_columns)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Read the page of the list here, where it is limited how long that takes."""
        with stats.patience(using=router.db_for_write(self.model)):
            changelist = super().get_changelist_instance(request)
            if rows := list(changelist.result_list):
                self.add_facts(rows)
        return changelist

    def add_facts(self, rows: Sequence[Any]) -> None:
        """Read, for all rows of a page of the list together, what its columns show beside the rows themselves."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        try:
            return super().changelist_view(request, extra_context)
        except TooSlow:
            return self.page(request, "too_slow.html", status=503, title=_("This took too long"))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Read what the page shows likewise."""
        try:
            with stats.patience(using=router.db_for_write(self.model)):
                return super().changeform_view(request, object_id, form_url, extra_context)
        except TooSlow:
            return self.page(request, "too_slow.html", status=503, title=_("This took too long"))

    def page(self, request: HttpRequest, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return a page of our own within this admin site."""
        request.current_app = self.admin_site.name
        common = {**self.admin_site.each_context(request), "opts": self.opts, "media": self.media + FORMS}
        return TemplateResponse(request, f"admin/jobs/{template}", common | context, status=status)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return FixedOrderChangeList

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Refuse what is no filter of ours: ``?payload__icontains=`` would read the whole table."""
        return lookup in {getattr(list_filter, "parameter_name", None) for list_filter in self.list_filter}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def link(self, model: type[Model], pk: int, text: str) -> str:
        """Return ``text``, linked to the page of that row where this site shows the model."""
        if not self.admin_site.is_registered(model):
            return text
        return format_html('<a href="{}">{}</a>', self.url(model, "change", quote(pk)), text)

    def list_url(self, model: type[Model], **filters: Any) -> str:
        """Return the address of the rows of ``model`` that match, or nothing where this site does not show them."""
        if not self.admin_site.is_registered(model):
            return ""
        return f"{self.url(model, 'changelist')}?{urlencode(filters)}"

    def url(self, model: type[Model], page: str, *args: Any) -> str:
        """Return the address of a page of ``model`` on this admin site."""
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
        return reverse(name, args=args, current_app=self.admin_site.name)


def time_column(field: str, description: Any) -> Callable[[Any, Any], str]:
    """Return a column, or a field of a page, that shows a stored time to the second."""

    @admin.display(description=description)
    def column(_admin: Any, row: Any) -> str:
        return shown.moment(getattr(row, field))

    return column


class FoundByJob(ReadOnlyAdmin):
    """Base of the admins whose rows belong to a job, and are searched by its id."""

    search_fields = ("job__id",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        job_id = stats.as_id(search_term)
        return (queryset.none() if job_id is None else queryset.filter(job_id=job_id)), False
