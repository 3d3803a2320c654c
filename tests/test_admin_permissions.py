"""
Who may do what in the admin: every action, for every sort of user, by every way there is.

The actions come from the admin classes themselves: one that is new fails here
until it has a row to be done to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from jobs import operations
from jobs.admin.steering import SteeredAdmin
from jobs.leases import Lease
from jobs.models import BulkOperation, Job, Queue
from tests.jobs import noop
from tests.leasing import make_worker, silence
from tests.scheduling import make
from tests.test_admin import backing_off_job, dead_job, running_job

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ADMINS = [each for model, each in admin.site._registry.items() if model._meta.app_label == "jobs"]


class Case(NamedTuple):
    """Something that people do through a page of its own."""

    model: str
    name: str
    permission: str
    form: Any = None

    def __str__(self) -> str:
        return f"{self.model} {self.name}"


STEERING = [
    Case(str(each.opts.model_name), action.name, action.permission, action.form)
    for each in ADMINS
    if isinstance(each, SteeredAdmin) and each.model is not BulkOperation
    for action in each.steering
]
# What is done elsewhere than through ``steering``.
OTHERS = [Case("job", "add", "enqueue_job"), Case("job", "payload", "view_job_payload")]


def paused_queue() -> Queue:
    return operations.pause("mail")


def abandoned_job() -> Job:
    job = running_job()
    silence(Lease(job.pk, job.claim_no))
    return job


# A row that each can be done to.
ROWS: dict[str, Callable[[], Any]] = {
    "job retry": dead_job,
    "job trigger": backing_off_job,
    "job postpone": noop.enqueue,
    "job reroute": noop.enqueue,
    "job cancel": noop.enqueue,
    "job rescue": abandoned_job,
    "job discard": dead_job,
    "job add": noop.enqueue,
    "job payload": lambda: noop.enqueue(password="hunter2"),
    "queue pause": lambda: Queue.objects.create(name="mail"),
    "queue resume": paused_queue,
    "worker drain": make_worker,
    "cronjob enable": lambda: make(enabled=False),
    "cronjob disable": make,
    "cronjob trigger": make,
}
# What is typed into a field of each sort.
TYPED = {forms.DateTimeField: "2222-02-02T22:22", forms.IntegerField: "7", forms.CharField: "mail"}
# These change nothing, or ask first and belong to an action of the list: see the tests of bulk operations.
LOOKS = {"cronjob preview", "bulkoperation live", "job all", "job export"}
# The views that a ModelAdmin has from Django; those that change something are closed, see the tests of each admin.
STOCK = {"changelist", "add", "history", "delete", "change", ""}


def test_every_action_has_a_row_and_every_view_is_known() -> None:
    views = {
        f"{each.opts.model_name} {view}"
        for each in ADMINS
        for pattern in each.get_urls()
        if (view := str(pattern.name or "").rpartition("_")[2]) not in STOCK | {"do"}
    }

    assert set(ROWS) == {str(case) for case in [*STEERING, *OTHERS]}
    assert views - LOOKS == {str(case) for case in OTHERS if case.name not in STOCK}


USERS: dict[str, Callable[[Case], set[str]]] = {
    "staff": lambda case: set(),
    "viewer": lambda case: {f"view_{case.model}"},
    "blind": lambda case: {case.permission},
    "holder": lambda case: {f"view_{case.model}", case.permission},
    "others": lambda case: {f"view_{case.model}", *_all_of(case.model)} - {case.permission},
}
MAY = {"holder", "superuser"}
SEES = {"viewer", "others"} | MAY
EVERYBODY = ["anonymous", *USERS, "superuser"]


def _all_of(model: str) -> set[str]:
    codenames = Permission.objects.filter(content_type__app_label="jobs", content_type__model=model)
    return set(codenames.values_list("codename", flat=True))


def log_in(who: str, case: Case, **options: Any) -> Client:
    client = Client(**options)
    if who == "anonymous":
        return client
    user = User.objects.create_user(who, is_staff=True, is_superuser=who == "superuser")
    if who in USERS:
        wanted = Permission.objects.filter(content_type__app_label="jobs", codename__in=USERS[who](case))
        user.user_permissions.set(wanted)
    client.force_login(user)
    return client


def url(model: str, page: str, *args: Any) -> str:
    return reverse(f"admin:jobs_{model}_{page}", args=args)


def address(case: Case, row: Any) -> str:
    """Return where the page of the case is."""
    if case.name == "add":
        return url("job", "add") + "?kind=noop"
    return url(case.model, "do", row.pk, case.name) if case in STEERING else url(case.model, case.name, row.pk)


def typed(case: Case) -> dict[str, str]:
    """Return what makes the form of the case valid."""
    fields = case.form().fields if case.form else {}
    return {
        name: next(text for sort, text in TYPED.items() if isinstance(field, sort)) for name, field in fields.items()
    }


def everything() -> list[Any]:
    """Return all rows of the app as they are."""
    return [list(model._default_manager.order_by("pk").values()) for model in apps.get_app_config("jobs").get_models()]


def refused(response: Any, who: str) -> bool:
    if who == "anonymous":
        return response.status_code == 302 and "/login/" in response.headers["Location"]
    return bool(response.status_code == 403)


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("case", [*STEERING, *OTHERS], ids=str)
def test_a_post_does_it_for_whom_it_is_allowed_and_for_nobody_else(case: Case, who: str) -> None:
    row = ROWS[str(case)]()
    client, before = log_in(who, case), everything()

    response = client.post(address(case, row), typed(case))

    assert (everything() != before) == (who in MAY)
    assert refused(response, who) == (who not in MAY)


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("case", STEERING, ids=str)
def test_a_post_from_the_list_does_it_for_whom_it_is_allowed_and_for_nobody_else(case: Case, who: str) -> None:
    row = ROWS[str(case)]()
    client, before = log_in(who, case), everything()
    ticked = {"action": case.name, "_selected_action": [row.pk], "index": 0, "confirmed": "yes"}

    response = client.post(url(case.model, "changelist"), ticked | typed(case))

    assert (everything() != before) == (who in MAY)
    assert refused(response, who) == (who not in MAY)


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("case", [*STEERING, *OTHERS], ids=str)
def test_a_get_changes_nothing_for_anybody(case: Case, who: str) -> None:
    row = ROWS[str(case)]()
    client, before = log_in(who, case), everything()
    ticked = {"action": case.name, "_selected_action": [row.pk], "confirmed": "yes"}

    response = client.get(address(case, row), typed(case) | {"confirmed": "yes"})
    client.get(url(case.model, "changelist"), ticked)

    assert everything() == before
    # A view for POST alone says so before it asks who comes.
    assert refused(response, who) == (who not in MAY) or response.status_code == 405


@pytest.mark.parametrize("case", [*STEERING, *OTHERS], ids=str)
def test_a_post_without_its_csrf_token_is_refused(case: Case) -> None:
    row = ROWS[str(case)]()
    client, before = log_in("superuser", case, enforce_csrf_checks=True), everything()
    ticked = {"action": case.name, "_selected_action": [row.pk], "index": 0, "confirmed": "yes"}

    statuses = [
        client.post(address(case, row), typed(case)).status_code,
        client.post(url(case.model, "changelist"), ticked | typed(case)).status_code,
    ]

    assert statuses == [403, 403]
    assert everything() == before


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("case", STEERING, ids=str)
def test_list_and_page_offer_it_to_whom_it_is_allowed_and_to_nobody_else(case: Case, who: str) -> None:
    row = ROWS[str(case)]()
    client = log_in(who, case)

    listing = client.get(url(case.model, "changelist"))
    page = client.get(url(case.model, "change", row.pk))

    assert (listing.status_code == 200, page.status_code == 200) == (who in SEES, who in SEES)
    assert (f'<option value="{case.name}"' in listing.content.decode()) == (who in MAY)
    assert (address(case, row) in page.content.decode()) == (who in MAY)


@pytest.mark.parametrize("who", EVERYBODY)
def test_enqueueing_is_offered_to_whom_it_is_allowed(who: str) -> None:
    html = log_in(who, OTHERS[0]).get(url("job", "changelist")).content.decode()

    assert ("Enqueue a job</a>" in html) == (who in MAY)


@pytest.mark.parametrize("who", EVERYBODY)
def test_looking_at_what_is_masked_is_offered_to_whom_it_is_allowed(who: str) -> None:
    job = ROWS["job payload"]()

    html = log_in(who, OTHERS[1]).get(url("job", "change", job.pk)).content.decode()

    assert (url("job", "payload", job.pk) in html) == (who in MAY)
