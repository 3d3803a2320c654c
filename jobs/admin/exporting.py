"""The jobs of a list as a file, written while it is sent."""

from __future__ import annotations

import csv
import json
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import router
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.utils.timezone import localdate
from django.utils.translation import gettext_lazy as _

from .. import stats
from ..clock import aware
from ..exceptions import InvalidJob
from ..models import Job
from ..stats import ShownState

if TYPE_CHECKING:
    from .job import JobAdmin

Rows = list[dict[str, Any]]

# A file has all that match, wherever in the list it is asked for.
PARAMETERS = tuple(name for name in stats.PARAMETERS if name != "after")
# What a spreadsheet would take for a formula; the last four are the first ones in full width, as East Asia has them.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def _csv(rows: Rows) -> str:
    text = StringIO()
    csv.writer(text).writerows([_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return _plain(value)


def _ndjson(rows: Rows) -> str:
    return "".join(json.dumps(row, default=_plain, ensure_ascii=False) + "\n" for row in rows)


def _plain(value: Any) -> Any:
    return aware(value).isoformat() if isinstance(value, datetime) else value


class Format(NamedTuple):
    """A kind of file: how it is called, what it is, how it begins, and how the text of some rows is written."""

    label: Any
    content_type: str
    head: str
    written: Callable[[Rows], str]


FORMATS = {
    "csv": Format(_("Export as CSV"), "text/csv; charset=utf-8", ",".join(stats.EXPORTED) + "\r\n", _csv),
    "ndjson": Format(_("Export as JSON lines"), "application/x-ndjson", "", _ndjson),
}


def links(admin: JobAdmin, request: HttpRequest) -> list[tuple[Any, str]]:
    """Return what the list offers to whoever may export: labels, and addresses that keep its filters."""
    if not admin.may(request, "export_job"):
        return []
    return [
        (form.label, f"{admin.url(Job, 'export', name)}?{urlencode(_wanted(request))}")
        for name, form in FORMATS.items()
    ]


def respond(admin: JobAdmin, request: HttpRequest, name: str) -> HttpResponse | StreamingHttpResponse:
    """Send the jobs that match the filters in the address."""
    if name not in FORMATS:
        raise Http404(f"{name!r} is none of {', '.join(FORMATS)}.")
    using = router.db_for_write(Job)
    try:
        selection = stats.freeze(_wanted(request), ShownState, using=using)
    except InvalidJob:
        return HttpResponseRedirect(f"{admin.url(Job, 'changelist')}?e=1")
    form = FORMATS[name]
    parts = _parts(form, stats.exported(selection, using=using))
    body: Any = _one_by_one(parts) if isinstance(request, ASGIRequest) else parts
    filename = "-".join(["jobs", *filter(None, [selection.state]), localdate(aware(selection.at)).isoformat()])
    return StreamingHttpResponse(
        body,
        content_type=form.content_type,
        headers={"Content-Disposition": f'attachment; filename="{filename}.{name}"'},
    )


def _wanted(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET[name] for name in PARAMETERS if name in request.GET}


def _parts(form: Format, chunks: Iterator[Rows]) -> Iterator[str]:
    yield form.head
    for rows in chunks:
        yield form.written(rows)


async def _one_by_one(parts: Iterator[str]) -> AsyncIterator[str]:
    """Let each part be read in a thread: ASGI would otherwise wait for all of them, and keep them."""
    while (part := await sync_to_async(lambda: next(parts, None))()) is not None:
        yield part
