"""Shorthand for tests that fill in the form for schedules as a browser does."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from jobs.models import CronJob
from tests.test_admin import act, url


def superuser() -> Client:
    client = Client()
    user = User.objects.filter(username="root").first() or User.objects.create_superuser("root")
    client.force_login(user)
    return client


def page_url(schedule: CronJob | None) -> str:
    return url("cronjob_add") if schedule is None else url("cronjob_change", schedule.pk)


def opened(client: Client, schedule: CronJob | None = None) -> dict[str, Any]:
    """Return what a browser would post of the page as it is."""
    form = client.get(page_url(schedule)).context["adminform"].form
    data: dict[str, Any] = {}
    for bound in form:
        if bound.field.disabled:
            continue
        value, widget = bound.value(), bound.field.widget
        if hasattr(widget, "decompress"):
            data |= {f"{bound.name}_{place}": part or "" for place, part in enumerate(widget.decompress(value))}
        elif not isinstance(value, bool):
            data[bound.name] = "" if value is None else value
        elif value:
            data[bound.name] = "on"
    return data


def typed(data: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the same with something else typed in."""
    for name, value in changes.items():
        if value is False:
            data.pop(name, None)
        elif isinstance(value, list | dict):
            data[name] = json.dumps(value)
        else:
            data[name] = "" if value is None else "on" if value is True else value
    return data


def post(client: Client, schedule: CronJob | None = None, **changes: Any) -> Any:
    """Open the page, change something, and press Save."""
    return client.post(page_url(schedule), typed(opened(client, schedule), **changes))


def errors(response: Any) -> dict[str, str]:
    """Return the errors on the page by field."""
    found = response.context["adminform"].form.errors
    return {name: " ".join(messages) for name, messages in found.items()}


def by_form(schedule: CronJob, **changes: Any) -> None:
    response = post(superuser(), schedule, **changes)
    assert response.status_code == 302, errors(response)


def by_action(schedule: CronJob, *, enabled: bool) -> None:
    act(superuser(), "enable" if enabled else "disable", schedule, model="cronjob")


def by_button(schedule: CronJob, *, enabled: bool) -> None:
    superuser().post(url("cronjob_do", schedule.pk, "enable" if enabled else "disable"))
