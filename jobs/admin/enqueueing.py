"""Enqueueing from the admin: choose a kind, fill in its arguments; or copy a job that has ended."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from .. import operations, registry, stats, tasks
from ..exceptions import InvalidJob
from ..models import Job
from ..operations import Actor
from ..registry import JobDefinition
from ..reports import Sentence
from ..specs import JobSpec
from ..states import State
from .arguments import ArgumentsForm, RawArgumentsForm, bound
from .forms import OptionsForm

if TYPE_CHECKING:
    from .job import JobAdmin


def enqueue_view(admin: JobAdmin, request: HttpRequest) -> HttpResponse:
    """Let somebody who may choose a kind (GET), fill in the form for it (GET), and enqueue it (POST)."""
    original = admin.row(request, request.GET["copy"]) if "copy" in request.GET else None
    definition = registry.find(original.kind if original else request.GET.get("kind", ""))
    if original is None and definition is None:
        return admin.page(request, "job/kinds.html", title=_("Enqueue a job"), kinds=_kinds(request))
    return _Enqueueing(admin, request, definition, original).respond()


def _kinds(request: HttpRequest) -> list[dict[str, Any]]:
    """Return what can be enqueued, without the older names of the same and without our own."""
    barred = registry.barred(request.user.has_perm)
    found = [(kind, registry.resolve(kind)) for kind in registry.kinds()]
    return [
        {
            "kind": kind,
            "summary": _doc(definition).partition("\n")[0],
            "parameters": _spoken(definition.signature),
            "queue": definition.options.queue,
            "permission": definition.options.permission if kind in barred else "",
        }
        for kind, definition in found
        if kind == definition.kind and definition is not tasks.carry_out
    ]


def _doc(definition: JobDefinition[..., Any]) -> str:
    """Return what the handler says of itself, without the marks of code, which a page does not show as such."""
    return (inspect.getdoc(definition.function) or "").replace("``", "")


class _Unquoted(str):
    """An annotation that was written as text, or read as such, and is shown as code."""

    __slots__ = ()
    __repr__ = str.__str__


def _spoken(signature: inspect.Signature) -> str:
    parameters = [
        each.replace(annotation=_Unquoted(each.annotation)) if isinstance(each.annotation, str) else each
        for each in signature.parameters.values()
    ]
    return str(inspect.Signature(parameters))


@dataclass(frozen=True, slots=True)
class _Enqueueing:
    """One visit to the form: for a kind, or for a copy of a job, whose kind nobody here may know."""

    admin: JobAdmin
    request: HttpRequest
    definition: JobDefinition[..., Any] | None
    original: Job | None

    def respond(self) -> HttpResponse:
        arguments, options = self._forms()
        if arguments.is_valid() and options.is_valid():
            try:
                job = self._enqueue(arguments, options.cleaned_data)
            except InvalidJob as error:
                arguments.add_error(None, str(error))
            else:
                self._tell(job)
                return HttpResponseRedirect(self.admin.url(Job, "change", job.pk))
        return self._page(arguments, options)

    def _forms(self) -> tuple[Any, OptionsForm]:
        data = self.request.POST if self.request.method == "POST" else None
        source: Any = self.original or (self.definition and self.definition.options)
        initial = {"queue": source.queue, "priority": source.priority}
        if self.original is not None:
            initial["unique_key"] = self.original.unique_key
        return self._arguments_form(data), OptionsForm(data, initial=initial)

    def _arguments_form(self, data: Any) -> Any:
        if self.original is None:
            return ArgumentsForm(data, definition=registry.resolve(self.definition), given={})
        documents = {document.name: document for document in stats.documents(self.original)}
        kept = [
            name
            for name in ("args", "payload")
            if name in documents and (documents[name].is_cut or documents[name].is_masked)
        ]
        stored = {"args": self.original.args, "payload": self.original.payload}
        if self.definition is not None and not any(documents[name].is_cut for name in kept):
            try:
                given = bound(self.definition, **stored)
            except TypeError:
                pass
            else:
                return ArgumentsForm(data, definition=self.definition, given=given)
        return RawArgumentsForm(data, given=stored, kept=kept)

    def _enqueue(self, form: Any, options: dict[str, Any]) -> Job:
        args, payload = form.arguments()
        who = {"actor": Actor.of(self.request.user), "reason": options.pop("reason")}
        if self.original is not None:
            return operations.copy(self.original, args=args, payload=payload, **who, **options)
        using = self.admin.get_queryset(self.request).db
        return operations.enqueue(
            JobSpec(registry.resolve(self.definition), payload, args=args, **options), using=using, **who
        )

    def _tell(self, job: Job) -> None:
        text = _("Job #%d is enqueued.") if job.created else _("Job #%d holds this unique key: nothing was enqueued.")
        self.admin.tell(self.request, Sentence(text % job.pk, is_good=job.created))

    def _page(self, arguments: Any, options: OptionsForm) -> HttpResponse:
        if self.original is not None:
            title = _("Enqueue a copy of job %s") % self.original
            back = self.admin.url(Job, "change", self.original.pk)
        else:
            title = _("Enqueue %s") % (self.definition and self.definition.kind)
            back = self.admin.url(Job, "add")
        summary = _doc(self.definition) if self.definition else ""
        return self.admin.page(
            self.request,
            "job/enqueue.html",
            title=title,
            summary=summary,
            arguments=arguments,
            options=options,
            back_url=back,
            original=self.original,
        )


def why_not_copy(job: Job) -> str:
    """Return what stands against copying ``job``, or nothing."""
    return "" if State(job.state).is_final else _("Only a job that has ended can be copied.")
