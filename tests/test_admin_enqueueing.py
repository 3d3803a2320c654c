"""Enqueueing and copying jobs from the admin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from django.test import Client

from jobs import job as job_decorator
from jobs import registry
from jobs.admin.arguments import ArgumentsForm, RawArgumentsForm, bound
from jobs.models import Job, JobEvent
from jobs.stats.masking import MASK
from tests.jobs import echo, noop
from tests.registering import own_registry
from tests.test_admin import LogIn, dead_job, log_in, running_job, told, url

__all__ = ["log_in"]  # a fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def handlers() -> Iterator[None]:
    """Handlers with parameters of every sort."""
    with own_registry():

        @job_decorator("typed", queue="mail", priority=3, aliases=["elder"])
        def typed(
            number: int,
            text: str = "v1",
            *,
            share: float = 0.5,
            flag: bool = False,
            choice: Literal["a", "b"] = "a",
            maybe: int | None = None,
            either: int | str = 1,
            untyped=None,
        ) -> None:
            """Do something.

            In detail.
            """

        @job_decorator("placed", takes_context=True)
        def placed(ctx: object, first: int, second: int = 2, /, third: int = 3, *more: int, **options: int) -> None: ...

        @job_decorator("secretive")
        def secretive(user: str, password: str, customer: dict[str, str] | None = None) -> None: ...

        @job_decorator("odd")
        def odd(value: unheard_of) -> None: ...  # type: ignore[name-defined]  # noqa: F821

        @job_decorator("refund", permission="auth.add_user")
        def refund() -> None: ...

        yield


def filled(kind: str, given: dict[str, Any] | None = None, **values: Any) -> ArgumentsForm:
    data = {f"argument-{name}": value for name, value in values.items()}
    return ArgumentsForm(data, definition=registry.resolve(kind), given=given or {})


def arguments(kind: str, given: dict[str, Any] | None = None, **values: Any) -> Any:
    form = filled(kind, given, **values)
    assert form.is_valid(), form.errors
    return form.arguments()


UNTOUCHED = {"text": "v1", "share": "0.5", "flag": "false", "choice": "a", "either": "1", "maybe": "", "untyped": ""}


@pytest.mark.parametrize(
    ("values", "payload"),
    [
        ({}, {}),
        ({"text": ""}, {"text": ""}),
        ({"text": " x "}, {"text": " x "}),
        ({"share": "1"}, {"share": 1.0}),
        ({"flag": "true"}, {"flag": True}),
        ({"choice": "b"}, {"choice": "b"}),
        ({"maybe": "7"}, {"maybe": 7}),
        ({"either": '"x"'}, {"either": "x"}),
        ({"untyped": "null"}, {"untyped": None}),
        ({"untyped": '{"a": [1]}'}, {"untyped": {"a": [1]}}),
    ],
    ids=repr,
)
def test_what_is_left_as_it_was_stays_the_handlers_default(handlers: None, values: Any, payload: Any) -> None:
    assert arguments("typed", number="1", **(UNTOUCHED | values)) == ([], {"number": 1, **payload})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("number", "", "This field is required."),
        ("number", "x", "Enter a whole number."),
        ("share", "x", "Enter a number."),
        ("choice", "c", "Select a valid choice. c is not one of the available choices."),
        ("either", "x", "This is not JSON"),
        ("untyped", "[" * 100_000, "This is not JSON"),
        ("untyped", "[" * 900 + "]" * 900, "nested deeper than 100 levels"),
        ("text", "\0", "Null characters are not allowed."),
    ],
    ids=["nothing", "no number", "no share", "no choice", "no JSON", "torn JSON", "deep JSON", "nul"],
)
def test_what_does_not_fit_is_said_at_its_field(handlers: None, name: str, value: str, error: str) -> None:
    form = filled("typed", **({"number": "1"} | UNTOUCHED | {name: value}))

    assert not form.is_valid()
    assert error in str(form.errors[name])


@pytest.mark.parametrize(
    ("values", "args", "payload"),
    [
        ({"first": "1", "second": "2", "third": "3"}, [1], {}),
        ({"first": "1", "second": "5", "third": "3"}, [1, 5], {}),
        ({"first": "1", "second": "2", "third": "4"}, [1], {"third": 4}),
        ({"first": "1", "second": "2", "third": "3", "more": "[7]"}, [1, 2, 3, 7], {}),
        ({"first": "1", "second": "2", "third": "3", "options": '{"x": 1}'}, [1], {"x": 1}),
    ],
    ids=str,
)
def test_arguments_go_by_position_where_they_must(handlers: None, values: Any, args: Any, payload: Any) -> None:
    assert arguments("placed", **values) == (args, payload)


@pytest.mark.parametrize(("name", "value"), [("more", "7"), ("options", "[]")])
def test_the_rest_has_its_shape(handlers: None, name: str, value: str) -> None:
    form = filled("placed", first="1", second="2", third="3", **{name: value})

    assert "Give a" in str(form.errors[name])


def test_a_parameter_without_a_default_that_may_be_none_is_none(handlers: None) -> None:
    job_decorator("nullable")(_nullable)

    assert arguments("nullable", a="", b="") == ([], {"a": None, "b": None})


def _nullable(a: int | None, b: list[int] | None) -> None: ...


def test_a_hint_that_cannot_be_read_asks_for_json(handlers: None) -> None:
    assert arguments("odd", value="[1]") == ([], {"value": [1]})


def test_a_default_that_is_no_json_is_not_shown_and_stays_the_handlers(handlers: None) -> None:
    job_decorator("objecting")(_objecting)

    assert arguments("objecting", a="") == ([], {})


def _objecting(a: object = object()) -> None:
    """Have a default that cannot be written."""


def test_stored_arguments_are_known_by_their_parameters(handlers: None) -> None:
    placed = registry.resolve("placed")

    assert bound(placed, [1, 2, 3, 4], {"x": 5}) == {
        "first": 1,
        "second": 2,
        "third": 3,
        "more": [4],
        "options": {"x": 5},
    }
    with pytest.raises(TypeError):
        bound(placed, [], {})


def test_given_values_are_kept_and_changed(handlers: None) -> None:
    given = {"number": 7, "text": "v2", "untyped": {"a": 1}}

    assert arguments("typed", given, **(UNTOUCHED | {"number": "7", "text": "v3", "untyped": '{"a": 1}'})) == (
        [],
        {"number": 7, "text": "v3", "untyped": {"a": 1}},
    )


def test_a_given_value_that_is_not_what_the_hint_says_is_kept(handlers: None) -> None:
    assert arguments("typed", {"number": "seven"}, number='"seven"', **UNTOUCHED) == ([], {"number": "seven"})


def test_masked_values_are_not_shown_and_stay_when_left_empty(handlers: None) -> None:
    given = {"user": "ada", "password": "hunter2", "customer": {"card": "4111"}}
    form = ArgumentsForm(None, definition=registry.resolve("secretive"), given=given)

    assert "hunter2" not in form.as_p()
    assert "4111" not in form.as_p()
    assert arguments("secretive", given, user="ada", password="", customer="") == ([], given)
    assert arguments("secretive", given, user="ada", password="x", customer="")[1]["password"] == "x"


def test_raw_arguments_are_kept_and_changed() -> None:
    given = {"args": [1], "payload": {"a": 2}}
    shown = RawArgumentsForm(None, given=given, kept=["payload"])
    changed = RawArgumentsForm({"argument-args": "[3]", "argument-payload": ""}, given=given, kept=["payload"])
    wrong = RawArgumentsForm({"argument-args": "{}", "argument-payload": "[]"}, given=given, kept=[])

    assert shown.initial == {"args": "[1]"}
    assert changed.is_valid()
    assert changed.arguments() == ([3], {"a": 2})
    assert sorted(wrong.errors) == ["args", "payload"]


def form_url(**query: str) -> str:
    return url("job_add") + "?" + "&".join(f"{name}={value}" for name, value in query.items())


def test_the_kinds_are_listed_with_what_they_do(handlers: None, admin_client: Client) -> None:
    html = admin_client.get(url("job_add")).content.decode()

    assert 'href="?kind=typed"' in html
    assert "Do something." in html
    assert "In detail." not in html
    assert "elder" not in html
    assert "(number: int, text: str = &#x27;v1&#x27;" in html.replace("&#39;", "&#x27;")


def test_a_job_is_enqueued_with_what_was_filled_in(handlers: None, log_in: LogIn) -> None:
    client = log_in("enqueue_job")
    address = form_url(kind="typed")
    html = client.get(address).content.decode()
    assert 'name="argument-number"' in html
    assert '<input type="text" name="option-queue" value="mail"' in html

    values = {f"argument-{name}": value for name, value in ({"number": "7"} | UNTOUCHED).items()}
    options = {"option-queue": "bulk", "option-priority": "5", "option-unique_key": "k", "option-reason": "A test"}
    response = client.post(address, values | options)

    job = Job.objects.get()
    assert response.headers["Location"] == url("job_change", job.pk)
    assert told(response) == [f"Job #{job.pk} is enqueued."]
    assert (job.kind, job.args, job.payload) == ("typed", [], {"number": 7})
    assert (job.queue, job.priority, job.unique_key, job.state) == ("bulk", 5, "k", "pending")
    event = JobEvent.objects.get()
    assert (event.kind, event.actor_label, event.reason) == ("enqueued", "alice", "A test")


@pytest.mark.parametrize("when", [{"option-delay": "60"}, {"option-run_at": "2222-02-02T22:22"}], ids=str)
def test_a_job_is_enqueued_for_later(admin_client: Client, when: dict[str, str]) -> None:
    admin_client.post(form_url(kind="noop"), when)

    assert Job.objects.get().state == "scheduled"


def test_a_time_and_a_delay_are_one_too_many(admin_client: Client) -> None:
    response = admin_client.post(form_url(kind="noop"), {"option-delay": "60", "option-run_at": "2222-02-02T22:22"})

    assert "not both" in response.content.decode()
    assert not Job.objects.exists()


def test_what_cannot_be_stored_is_said_above_the_form(admin_client: Client) -> None:
    response = admin_client.post(form_url(kind="echo"), {"argument-value": '"\\u0000"'})

    assert "NUL character" in response.content.decode()
    assert not Job.objects.exists()


def test_a_taken_key_leads_to_the_job_that_has_it(admin_client: Client) -> None:
    live = noop.using(unique_key="k").enqueue()

    response = admin_client.post(form_url(kind="noop"), {"option-unique_key": "k"})

    assert response.headers["Location"] == url("job_change", live.pk)
    assert told(response) == [f"Job #{live.pk} holds this unique key: nothing was enqueued."]


def test_enqueueing_needs_its_permission(log_in: LogIn) -> None:
    client = log_in("retry_job", "cancel_job")

    for address in (url("job_add"), form_url(kind="noop"), form_url(copy=str(dead_job().pk))):
        assert client.get(address).status_code == 403
        assert client.post(address).status_code == 403
    assert "Enqueue a job" not in client.get(url("job_changelist")).content.decode()
    assert Job.objects.count() == 1


def test_a_kind_of_its_own_permission_is_listed_without_a_link_and_refused(handlers: None, log_in: LogIn) -> None:
    client = log_in("enqueue_job")

    html = client.get(url("job_add")).content.decode()

    assert "Needs the permission auth.add_user." in html
    assert 'href="?kind=refund"' not in html
    assert client.post(form_url(kind="refund")).status_code == 403
    assert not Job.objects.exists()


def test_a_site_without_kinds_says_how_to_make_one(admin_client: Client) -> None:
    with own_registry():
        registry._by_kind.clear()

        assert "decorate a function" in admin_client.get(url("job_add")).content.decode()


def test_the_list_offers_to_enqueue(admin_client: Client) -> None:
    assert f'<a href="{url("job_add")}" class="addlink">Enqueue a job</a>' in admin_client.get(
        url("job_changelist")
    ).content.decode().replace("\n", "")


def test_a_copy_begins_with_the_arguments_of_its_original(admin_client: Client) -> None:
    original = echo.using(queue="mail", unique_key="k").enqueue(value={"a": 1})
    original.cancel()
    address = form_url(copy=str(original.pk))
    html = admin_client.get(address).content.decode()
    assert "{&quot;a&quot;: 1}" in html

    response = admin_client.post(
        address, {"argument-value": '{"a": 2}', "option-queue": "mail", "option-unique_key": "k"}
    )

    copy = Job.objects.get(copied_from=original)
    assert (copy.payload, copy.queue, copy.unique_key) == ({"value": {"a": 2}}, "mail", "k")
    assert response.headers["Location"] == url("job_change", copy.pk)
    assert f"#{original.pk}</a>" in admin_client.get(url("job_change", copy.pk)).content.decode()
    assert f"The copy is job #{copy.pk}." in admin_client.get(url("job_change", original.pk)).content.decode()


def test_a_copy_keeps_what_is_masked(handlers: None, admin_client: Client) -> None:
    original = registry.resolve("secretive").enqueue("ada", "hunter2")
    original.cancel()
    address = form_url(copy=str(original.pk))
    html = admin_client.get(address).content.decode()
    assert "hunter2" not in html
    assert MASK not in html

    admin_client.post(address, {"argument-user": "bob", "argument-password": "", "argument-customer": ""})

    assert Job.objects.get(copied_from=original).payload == {"user": "bob", "password": "hunter2"}


@pytest.mark.parametrize("kind", ["unheard-of", "echo"], ids=["no handler", "another signature"])
def test_a_copy_of_what_no_handler_here_takes_is_made_of_json(admin_client: Client, settings: Any, kind: str) -> None:
    settings.JOBS = {"ALLOW_UNKNOWN_KINDS": True}
    original = noop.enqueue(1, 2, three=3)
    Job.objects.update(kind=kind)
    original.cancel()
    address = form_url(copy=str(original.pk))
    assert 'name="argument-payload"' in admin_client.get(address).content.decode()

    response = admin_client.post(address, {"argument-args": "[]", "argument-payload": '{"value": 3}'})

    assert response.status_code == 302
    copy = Job.objects.get(copied_from=original)
    assert (copy.kind, copy.args, copy.payload) == (kind, [], {"value": 3})


def test_a_copy_of_something_large_does_not_fill_the_form(admin_client: Client) -> None:
    original = echo.enqueue(value="x" * 50_000)
    original.cancel()
    address = form_url(copy=str(original.pk))
    html = admin_client.get(address).content.decode()
    assert len(html) < 40_000

    admin_client.post(address, {"argument-args": "", "argument-payload": ""})

    assert Job.objects.get(copied_from=original).payload == {"value": "x" * 50_000}


@pytest.mark.parametrize("make", [noop.enqueue, running_job], ids=["pending", "running"])
def test_what_may_still_run_is_not_copied(admin_client: Client, make: Any) -> None:
    job = make()

    response = admin_client.post(form_url(copy=str(job.pk)))

    assert "only a job that has ended can be copied" in response.content.decode()
    assert Job.objects.count() == 1


@pytest.mark.parametrize("copy", ["404", "%00", "x", ""])
def test_a_copy_of_what_is_not_there_is_not_found(admin_client: Client, copy: str) -> None:
    assert admin_client.get(form_url(copy=copy)).status_code == 404


def test_a_kind_that_cannot_be_leads_to_those_there_are(admin_client: Client) -> None:
    assert "What it does" in admin_client.get(form_url(kind="%00")).content.decode()
