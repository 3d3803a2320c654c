"""Schedules in the admin: the list, the page of one, and what people may do to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils import timezone

from jobs import clock, operations, schedules, stats
from jobs import job as job_decorator
from jobs.admin import CronJobAdmin
from jobs.declarations import Declaration
from jobs.models import CronJob, Job, JobEvent, JobRun
from jobs.operations import Actor
from jobs.outcomes import Discarded
from jobs.slots import NEVER
from jobs.stats.schedules import runs
from jobs.testing import age
from tests.cron_pages import page_url, post
from tests.leasing import claim, settle
from tests.registering import own_registry
from tests.scheduling import HOUR, make, missed, now, planned, tick
from tests.test_admin import ESCAPED, SCRIPT, LogIn, act, ask, log_in, reads, told, url

__all__ = ["log_in"]  # a fixture

pytestmark = pytest.mark.django_db

OTHER_SITE = admin.AdminSite(name="office")
OTHER_SITE.register(CronJob, CronJobAdmin)
urlpatterns = [path("admin/", admin.site.urls), path("office/", OTHER_SITE.urls)]
ALICE = Actor("1", "alice")


@pytest.fixture
def refund() -> Iterator[None]:
    """A kind that wants a permission of its own."""
    with own_registry():
        job_decorator("refund", permission="auth.add_user")(lambda: None)
        yield


def listed(client: Client, **query: Any) -> list[str]:
    """Return the names in the list."""
    return [schedule.name for schedule in client.get(url("cronjob_changelist"), query).context["cl"].result_list]


def row(client: Client, schedule: CronJob) -> str:
    """Return the row of a schedule in the list, with single spaces."""
    html = client.get(url("cronjob_changelist")).content.decode()
    (found,) = [part for part in html.split("<tr>") if f">{schedule.name} <" in part]
    return " ".join(found.split())


def page(client: Client, schedule: CronJob) -> str:
    return " ".join(client.get(page_url(schedule)).content.decode().split())


def ran(schedule: CronJob, **settlement: Any) -> Job:
    """Let an hour pass and its slot run."""
    age(schedule, HOUR)
    tick()
    (claimed,) = claim(queues=["default"])
    settle(claimed.lease, **settlement)
    schedule.refresh_from_db()
    return Job.objects.get(pk=claimed.lease.job_id)


def waiting() -> tuple[CronJob, Job]:
    """Return a schedule whose newest slot waits for the job of the one before, which runs."""
    schedule = missed(1, overlap="queue_one")
    tick()
    (claimed,) = claim()
    age(schedule, HOUR)
    tick()
    schedule.refresh_from_db()
    assert schedule.waiting_for is not None
    return schedule, Job.objects.get(pk=claimed.lease.job_id)


def standing_at(next_run_at: Any, error: str = "") -> CronJob:
    """Return a schedule that has been planned for that time, or was stopped."""
    schedule = make()
    CronJob.objects.filter(pk=schedule.pk).update(next_run_at=next_run_at)
    CronJob.objects.filter(pk=schedule.pk).update(error=error)
    schedule.refresh_from_db()
    return schedule


def test_the_list_shows_the_rule_with_its_zone_and_the_next_run(admin_client: Client) -> None:
    daily = planned(expression="@daily", timezone="Europe/Berlin", kind="echo", payload={"value": 1})
    interval = planned(every=5400)

    shown = row(admin_client, daily)
    assert "@daily" in shown
    assert "Europe/Berlin" in shown
    assert "echo" in shown
    assert f"{timezone.localtime(daily.next_run_at):%Y-%m-%d}" in shown
    assert "in " in shown
    assert "Every 1 h 30 min" in row(admin_client, interval)


STANDINGS: list[tuple[Callable[[], CronJob], str, str]] = [
    (lambda: standing_at(clock.in_seconds(7250)), "on_time", "in 2 h"),
    (make, "unplanned", "</span> Being planned"),
    (lambda: standing_at(clock.in_seconds(-7250)), "late", "</span> 2 h late"),
    (lambda: standing_at(clock.at(NEVER)), "ended", "</span> Ended"),
    (
        lambda: standing_at(clock.at(NEVER), "It went wrong."),
        "failed",
        '</span> Error</span> <div class="jobs-quiet">It',
    ),
]
WHY = {
    "on_time": ", in 2 h.",
    "unplanned": "a worker works out its next run in a moment",
    "late": "is 2 h late: no worker that knows its kind has come to it.",
    "ended": "Its rule names no further run.",
    "failed": "It went wrong. It runs no more until somebody edits it.",
}


@pytest.mark.parametrize(("made", "standing", "words"), STANDINGS, ids=[each[1] for each in STANDINGS])
def test_the_list_and_the_page_say_how_a_schedule_stands(
    admin_client: Client, made: Callable[[], CronJob], standing: str, words: str
) -> None:
    schedule = made()

    assert words in row(admin_client, schedule)
    assert WHY[standing] in page(admin_client, schedule)


def test_a_run_that_is_a_little_late_is_just_due(admin_client: Client) -> None:
    schedule = planned()
    CronJob.objects.filter(pk=schedule.pk).update(next_run_at=clock.in_seconds(-20))

    assert "due now" in row(admin_client, schedule)


def test_a_disabled_schedule_says_since_when(admin_client: Client) -> None:
    since, never = planned(), make(enabled=False)
    operations.disable(CronJob.objects.filter(pk=since.pk))

    assert "</span> Disabled since" in row(admin_client, since)
    assert "Nothing runs since" in page(admin_client, since)
    assert "</span> Disabled</span>" in row(admin_client, never)
    assert "Nothing runs until it is enabled." in page(admin_client, never)


def test_a_slot_that_waits_is_shown_with_what_it_waits_for(admin_client: Client) -> None:
    schedule, predecessor = waiting()
    link = f'<a href="{url("job_change", predecessor.pk)}">#{predecessor.pk}</a>'

    shown = row(admin_client, schedule)
    assert "One slot waits" in shown
    assert f"unfinished: {link}" in shown
    assert f"waits until {link} has ended." in page(admin_client, schedule)
    Job.objects.filter(pk=predecessor.pk).update(state="dead", finished_at=clock.now(), lease_expires_at=None)
    assert "unfinished:" not in row(admin_client, schedule)
    assert "runs in a moment" in page(admin_client, schedule)


def test_the_list_shows_how_the_last_run_went_and_leads_to_it(admin_client: Client) -> None:
    schedule = planned()
    assert "never" in row(admin_client, schedule)
    job = ran(schedule, outcome=Discarded("It was hopeless."))

    shown = row(admin_client, schedule)

    assert "</span> Dead" in shown
    assert f'<a href="{url("job_change", job.pk)}">#{job.pk}</a>' in shown
    assert " ago" in shown
    assert "took" in shown


def test_a_last_run_whose_job_was_pruned_is_still_known(admin_client: Client) -> None:
    schedule = planned()
    ran(schedule)
    Job.objects.all().delete()

    assert "its job is kept no longer" in row(admin_client, schedule)


def test_a_last_run_that_has_not_ended_took_nothing_yet(admin_client: Client) -> None:
    schedule = missed(1)
    tick()

    shown = row(admin_client, schedule)

    assert "</span> Pending" in shown
    assert "took" not in shown


def test_the_filters_show_those_schedules_and_no_others(admin_client: Client) -> None:
    names = {standing: made().name for made, standing, _ in STANDINGS}
    disabled = make(enabled=False, origin="code")

    for standing in ("late", "ended", "failed"):
        assert listed(admin_client, standing=standing) == [names[standing]]
    assert listed(admin_client, standing="disabled") == [disabled.name]
    assert sorted(listed(admin_client, standing="enabled")) == sorted(names.values())
    assert listed(admin_client, origin="code") == [disabled.name]
    assert listed(admin_client, origin="person", standing="late") == [names["late"]]


@pytest.mark.parametrize("wanted", stats.Standing)
def test_the_database_finds_what_is_shown_as_standing_so(wanted: stats.Standing) -> None:
    for made, *_ in STANDINGS:
        made()
    make(enabled=False)

    (found,) = stats.with_times(stats.in_standing(CronJob.objects.all(), wanted))

    assert stats.standing(found) == wanted


@pytest.mark.parametrize("query", [{"standing": "x"}, {"standing": "\0"}, {"origin": "nobody"}], ids=repr)
def test_a_filter_that_means_nothing_leads_back_to_the_whole_list(admin_client: Client, query: Any) -> None:
    response = admin_client.get(url("cronjob_changelist"), query)

    assert (response.status_code, response.headers["Location"]) == (302, url("cronjob_changelist") + "?e=1")


@pytest.mark.parametrize("lookup", ["payload__icontains", "name__contains", "enabled__exact"])
def test_a_lookup_that_is_no_filter_is_refused(admin_client: Client, lookup: str) -> None:
    assert admin_client.get(url("cronjob_changelist"), {lookup: "x"}).status_code == 400


def test_schedules_are_found_by_name_and_kind(admin_client: Client) -> None:
    make(name="nightly report"), make(name="other", kind="echo", payload={"value": 1})

    assert listed(admin_client, q="report") == ["nightly report"]
    assert listed(admin_client, q="ech") == ["other"]
    assert listed(admin_client, q="%") == []
    assert admin_client.get(url("cronjob_changelist"), {"q": "\0"}).status_code == 200


def test_the_list_costs_the_same_queries_for_many_and_reads_no_large_column(admin_client: Client) -> None:
    waiting()
    with CaptureQueriesContext(connection) as few:
        admin_client.get(url("cronjob_changelist"))
    for _ in range(8):
        ran(planned())
    waiting()

    with CaptureQueriesContext(connection) as many:
        admin_client.get(url("cronjob_changelist"))

    # Session, user, count, schedules, their last jobs, what waiting slots wait for.
    assert len(reads(many)) == len(reads(few)) <= 6
    assert not [sql for sql in reads(many) if '"payload"' in sql or '"declared"' in sql]


def test_the_page_costs_the_same_queries_for_much_history(admin_client: Client) -> None:
    schedule, _ = waiting()
    for _ in range(5):
        schedule.trigger(actor=ALICE)
    with CaptureQueriesContext(connection) as few:
        page(admin_client, schedule)
    for _ in range(20):
        schedule.trigger(actor=ALICE)
        post(admin_client, schedule, queue=f"q{_}")
        age(schedule, HOUR)
        tick()

    with CaptureQueriesContext(connection) as many:
        page(admin_client, schedule)

    # Session, user, schedule, runs, what a waiting slot waits for, skips, decisions, edits.
    assert len(reads(many)) == len(reads(few)) <= 8


def test_the_page_lists_the_last_runs(admin_client: Client) -> None:
    schedule = planned()
    dead = ran(schedule, outcome=Discarded(SCRIPT))
    slot = timezone.localtime(dead.scheduled_for)
    by_hand = schedule.trigger()

    html = page(admin_client, schedule)

    table = html.partition('id="jobs-runs"')[2]
    assert f"{slot:%H:%M:%S}" in table
    assert "</span> Dead" in table
    assert ESCAPED in table
    assert "Run by hand" in table
    assert table.index(f">#{by_hand.pk}<") < table.index(f">#{dead.pk}<")
    assert f'title="#{dead.pk} Dead"' in html.partition('id="jobs-runs"')[0]


def test_how_late_a_run_began_is_told_from_its_first_attempt(admin_client: Client) -> None:
    schedule = planned()
    job = ran(schedule)
    Job.objects.filter(pk=job.pk).update(scheduled_for=clock.in_seconds(-1000), started_at=clock.in_seconds(-100))
    JobRun.objects.filter(job=job).update(started_at=clock.in_seconds(-880))

    assert '<td class="jobs-nowrap">2 min</td>' in page(admin_client, schedule)


def test_a_run_that_began_while_the_page_was_read_has_not_taken_less_than_nothing() -> None:
    schedule = missed(1)
    tick()
    (seen,) = stats.with_times(CronJob.objects.filter(pk=schedule.pk))
    claim()

    (run,) = runs(seen)

    assert run.took == timedelta(0)


def test_no_more_than_the_newest_runs_are_listed(admin_client: Client) -> None:
    schedule = planned()
    for _ in range(23):
        schedule.trigger()

    assert len(admin_client.get(page_url(schedule)).context["page"]["runs"]) == 20


def test_the_page_says_which_slots_did_not_run_and_why(admin_client: Client) -> None:
    schedule = missed(5)
    tick()

    shown = page(admin_client, schedule).partition('id="jobs-skips"')[2]

    assert "4 slots, " in shown
    assert "Missed, and the catch-up policy does not run it" in shown


def test_a_single_slot_and_one_that_says_little_are_shown_too(admin_client: Client) -> None:
    schedule = planned()
    moment = now()
    for slots in ({"reason": "overlap", "first": moment.isoformat(), "last": moment.isoformat(), "count": 1}, {}):
        JobEvent.objects.create(at=clock.now(), kind="skipped", cron=schedule, slots=slots, reason="An old reason")

    shown = admin_client.get(page_url(schedule)).context["page"]["skips"]

    assert [skip["slots"] for skip in shown] == ["", f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S}"]
    assert [skip["why"] for skip in shown] == ["An old reason", "the job of an earlier slot was not finished"]


def test_the_page_says_who_did_what(admin_client: Client) -> None:
    schedule = planned()
    operations.disable(CronJob.objects.all(), actor=ALICE, reason=SCRIPT)
    operations.backfill(schedule, now() - timedelta(hours=3), now(), actor=ALICE)
    job = schedule.trigger(actor=ALICE, reason="To see.")
    post(admin_client, schedule, queue="mail")

    shown = page(admin_client, schedule).partition('id="jobs-history"')[2]

    for text in ("Edited", "admin", "Changed Queue.", "Run now", f"Job #{job.pk} To see.", "Backfilled", "3 slots, "):
        assert text in shown
    for text in ("Disabled", "alice", ESCAPED):
        assert text in shown
    assert shown.index("Edited") < shown.index("Run now") < shown.index("Disabled")


def test_the_system_is_who_did_what_nobody_did(admin_client: Client) -> None:
    schedules.sync([Declaration(name="declared", values={"kind": "noop", "every": HOUR})], using="default")
    schedules.sync([], using="default")

    shown = page(admin_client, CronJob.objects.get()).partition('id="jobs-history"')[2]

    assert "the system" in shown
    assert "no longer declared in code" in shown


def test_what_code_declares_and_a_person_changed_is_named(admin_client: Client) -> None:
    schedules.sync([Declaration(name="declared", values={"kind": "noop", "every": HOUR})], using="default")
    schedule = CronJob.objects.get()
    assert "Differs from the code" not in page(admin_client, schedule)

    CronJob.objects.filter(pk=schedule.pk).update(every=60, queue="mail")

    html = page(admin_client, schedule)
    assert "Declared in code. Edits here are kept." in html
    assert "Differs from the code in: queue, every." in html
    assert "Made by a person" in page(admin_client, make())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "Run the latest, if missed within 366 d"),
        ({"catch_up": "all", "catch_up_limit": 7, "catch_up_window": HOUR}, "Run all, at most 7, missed within 1 h"),
        ({"catch_up": "skip"}, "Run none"),
        ({"overlap": "cancel_running"}, "Cancel the old one, then run"),
    ],
    ids=str,
)
def test_the_page_says_its_policies_in_words(admin_client: Client, values: Any, words: str) -> None:
    assert f'<dd class="jobs-lines">{words}</dd>' in page(admin_client, make(**values))


def test_all_that_others_wrote_is_escaped(admin_client: Client) -> None:
    schedule = planned(name=SCRIPT, metadata={SCRIPT: SCRIPT})
    ran(schedule, outcome=Discarded(SCRIPT))
    operations.disable(CronJob.objects.all(), actor=Actor("1", SCRIPT), reason=SCRIPT)
    CronJob.objects.update(enabled=True)
    CronJob.objects.update(kind=SCRIPT, error=SCRIPT)

    pages = [
        admin_client.get(address).content.decode()
        for address in (
            url("cronjob_changelist"),
            page_url(schedule),
            url("cronjob_do", schedule.pk, "trigger"),
            url("cronjob_delete", schedule.pk),
        )
    ]

    assert not [html for html in pages if SCRIPT in html or ESCAPED not in html]


def test_a_schedule_is_run_now_with_an_event(log_in: LogIn) -> None:
    schedule, client = planned(), log_in("trigger_cronjob")

    response = client.post(url("cronjob_do", schedule.pk, "trigger"), {"reason": "To see."})

    job = Job.objects.get()
    assert (response.status_code, response.headers["Location"]) == (302, page_url(schedule))
    assert told(response) == [f"Job #{job.pk} is enqueued. The next slot stays."]
    event = JobEvent.objects.get()
    assert (event.kind, event.job_id, event.actor_label, event.reason) == ("triggered", job.pk, "alice", "To see.")


def test_before_a_run_by_hand_one_is_told_of_what_has_not_ended(log_in: LogIn) -> None:
    schedule, client = planned(), log_in("trigger_cronjob", "toggle_cronjob")
    address = url("cronjob_do", schedule.pk, "trigger")
    assert "has not ended" not in client.get(address).content.decode()
    job = schedule.trigger()

    assert f"Job #{job.pk} has not ended: the new one runs beside it." in client.get(address).content.decode()
    assert f"Job #{job.pk} has not ended" in ask(client, "trigger", schedule, model="cronjob").content.decode()
    assert "has not ended" not in client.get(url("cronjob_do", schedule.pk, "disable")).content.decode()
    assert Job.objects.count() == 1


def test_of_many_unfinished_jobs_some_are_named(log_in: LogIn) -> None:
    schedule, client = planned(), log_in("trigger_cronjob")
    first, *_ = [schedule.trigger() for _ in range(7)]

    html = client.get(url("cronjob_do", schedule.pk, "trigger")).content.decode()

    assert f"Jobs #{first.pk}, #{first.pk + 1}, " in html
    assert "… have not ended" in html


def test_several_are_run_enabled_and_disabled_from_the_list(log_in: LogIn) -> None:
    made, client = [planned(), planned(enabled=False)], log_in("trigger_cronjob", "toggle_cronjob")

    assert told(act(client, "trigger", *made, model="cronjob")) == ["2 jobs are enqueued. The next slots stay."]
    assert told(act(client, "disable", *made, model="cronjob", reason="why"))[1:] == [
        "1 schedule is disabled.",
        "1 schedule was left alone: it was disabled before.",
    ]
    assert told(act(client, "enable", *made, model="cronjob"))[3:] == ["2 schedules are enabled."]
    assert told(act(client, "enable", *made, model="cronjob"))[4:] == [
        "2 schedules were left alone: they were enabled before."
    ]
    assert JobEvent.objects.get(kind="disabled").reason == "why"


def test_what_is_not_run_is_told_with_the_reason(log_in: LogIn, refund: None) -> None:
    keyed, unknown = planned(unique_key="k"), planned()
    CronJob.objects.filter(pk=unknown.pk).update(kind="nobody.knows")
    barred = [planned(kind="refund") for _ in range(2)]
    keyed.trigger()

    messages = told(act(log_in("trigger_cronjob"), "trigger", keyed, unknown, *barred, model="cronjob"))

    assert len(messages) == 3
    assert "another live job holds its unique key 'k'" in messages[0]
    assert f"{unknown.name} was not run: No handler is registered" in messages[1]
    assert "2 schedules were not run: their kinds have permissions of their own" in messages[2]
    assert Job.objects.count() == 1


def test_of_many_that_are_not_run_only_some_are_named(log_in: LogIn) -> None:
    made = [planned(unique_key="k") for _ in range(8)]

    messages = told(act(log_in("trigger_cronjob"), "trigger", *made, model="cronjob"))

    assert "is enqueued" in messages[0]
    assert len(messages) == 7
    assert messages[-1] == "2 more schedules were not run, for such reasons."


def test_a_run_by_hand_asks_for_the_permission_of_the_kind(log_in: LogIn, refund: None) -> None:
    schedule, client = planned(kind="refund"), log_in("trigger_cronjob")

    html = client.get(page_url(schedule)).content.decode()
    response = client.post(url("cronjob_do", schedule.pk, "trigger"))

    assert 'aria-disabled="true" aria-describedby="jobs-not-trigger"' in html
    assert "auth.add_user" in html
    assert told(response) == ["Whoever starts jobs of this kind needs the permission auth.add_user."]
    assert not Job.objects.exists()


def test_enabling_asks_for_the_permission_of_the_kind(log_in: LogIn, refund: None) -> None:
    schedule, client = planned(kind="refund", enabled=False), log_in("toggle_cronjob", "change_cronjob")

    html = client.get(page_url(schedule)).content.decode()
    by_button = client.post(url("cronjob_do", schedule.pk, "enable"))
    by_list = act(client, "enable", schedule, planned(), model="cronjob")
    by_form = client.post(page_url(schedule), {"name": "mine", "kind": "refund", "enabled": "on"})

    assert 'aria-disabled="true" aria-describedby="jobs-not-enable"' in html
    assert told(by_button) == ["Whoever starts jobs of this kind needs the permission auth.add_user."]
    assert told(by_list)[1:] == [
        "1 schedule was left alone: it was enabled before.",
        "1 schedule was not enabled: its kind has a permission of its own, which you do not have.",
    ]
    assert by_form.status_code == 403
    assert not CronJob.objects.get(pk=schedule.pk).enabled


def test_disabling_does_not_ask_for_the_permission_of_the_kind(log_in: LogIn, refund: None) -> None:
    schedules, client = [planned(kind="refund") for _ in range(2)], log_in("toggle_cronjob")

    client.post(url("cronjob_do", schedules[0].pk, "disable"))
    act(client, "disable", schedules[1], model="cronjob")

    assert not CronJob.objects.filter(enabled=True).exists()


def test_a_button_that_the_state_forbids_is_disabled_with_the_reason(admin_client: Client) -> None:
    enabled, disabled = planned(), planned(enabled=False)

    assert 'id="jobs-not-enable">It is enabled.' in page(admin_client, enabled)
    assert 'id="jobs-not-disable">It is disabled.' in page(admin_client, disabled)
    assert "jobs-not-disable" not in page(admin_client, enabled)


def test_no_button_of_the_form_is_before_save(admin_client: Client) -> None:
    # Else Enter in a field would press it.
    html = admin_client.get(page_url(planned())).content.decode().partition('id="cronjob_form"')[2]

    first = min(html.index(sort) for sort in ('type="submit"', 'type="image"', "<button>") if sort in html)
    assert html[first:].startswith('type="submit" value="Save"')
    assert "formaction" not in html


WHO: list[tuple[str, tuple[str, ...], set[str]]] = [
    ("nobody's", (), set()),
    ("those of others", ("add_cronjob", "delete_cronjob", "retry_job", "pause_queue"), set()),
    ("toggle", ("toggle_cronjob",), {"enable", "disable"}),
    ("trigger", ("trigger_cronjob",), {"trigger"}),
    ("change", ("change_cronjob",), set()),
]


@pytest.mark.parametrize("action", ["enable", "disable", "trigger"])
@pytest.mark.parametrize(("codenames", "allowed"), [each[1:] for each in WHO], ids=[each[0] for each in WHO])
def test_who_may_do_what(log_in: LogIn, codenames: tuple[str, ...], allowed: set[str], action: str) -> None:
    schedule, client = planned(enabled=action != "enable"), log_in(*codenames)
    may = action in allowed
    do = url("cronjob_do", schedule.pk, action)

    assert (f'value="{action}"' in client.get(url("cronjob_changelist")).content.decode()) == may
    assert (f'href="{do}"' in client.get(page_url(schedule)).content.decode()) == may
    assert client.get(do).status_code == (200 if may else 403)
    assert not JobEvent.objects.exists()
    assert ask(client, action, schedule, model="cronjob").status_code == (200 if may else 403)
    assert not JobEvent.objects.exists()
    assert act(client, action, schedule, model="cronjob").status_code == (302 if may else 403)
    CronJob.objects.update(enabled=action != "enable")
    assert client.post(do).status_code == (302 if may else 403)
    assert JobEvent.objects.count() == (2 if may else 0)


@pytest.mark.parametrize("action", ["enable", "disable", "trigger"])
def test_strangers_are_sent_to_the_login_and_superusers_may_all(admin_client: Client, action: str) -> None:
    schedule, stranger = planned(enabled=action != "enable"), Client()
    do = url("cronjob_do", schedule.pk, action)

    for response in (stranger.get(do), stranger.post(do), act(stranger, action, schedule, model="cronjob")):
        assert response.headers["Location"].startswith("/admin/login/")
    assert not JobEvent.objects.exists()
    assert admin_client.post(do).status_code == 302
    assert JobEvent.objects.count() == 1


def test_an_action_needs_its_csrf_token() -> None:
    schedule, strict = planned(), Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("root"))

    assert strict.post(url("cronjob_do", schedule.pk, "disable")).status_code == 403
    assert strict.post(page_url(schedule), {}).status_code == 403
    assert not JobEvent.objects.exists()


def test_an_action_also_needs_the_permission_to_look(client: Client) -> None:
    schedule, user = planned(), User.objects.create_user("carol", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["toggle_cronjob", "trigger_cronjob"]))
    client.force_login(user)

    for action in ("disable", "trigger"):
        assert client.post(url("cronjob_do", schedule.pk, action)).status_code == 403


def test_whoever_may_only_look_can_change_nothing(log_in: LogIn) -> None:
    schedule, client = planned(), log_in()

    html = client.get(page_url(schedule)).content.decode().partition('id="content-start"')[2]
    assert "<input" not in html.replace('<input type="hidden" name="csrfmiddlewaretoken"', "").replace(
        '<input type="hidden" name="seen"', ""
    )
    assert 'class="button' not in html
    assert "data-url" not in html
    assert client.get(url("cronjob_add")).status_code == 403
    assert client.post(page_url(schedule), {"every": "1"}).status_code == 403
    assert client.post(url("cronjob_delete", schedule.pk), {"post": "yes"}).status_code == 403
    assert act(client, "delete_selected", schedule, model="cronjob").status_code == 403


@pytest.mark.urls(__name__)
def test_another_admin_site_leads_to_its_own_pages_and_to_none_that_it_has_not(admin_client: Client) -> None:
    schedule, _ = waiting()

    html = admin_client.get("/office/jobs/cronjob/").content.decode()
    shown = admin_client.get(f"/office/jobs/cronjob/{schedule.pk}/change/").content.decode()
    response = admin_client.post(f"/office/jobs/cronjob/{schedule.pk}/do/disable/")

    assert "/jobs/job/" not in html + shown
    assert 'data-url="/office/jobs/cronjob/preview/"' in shown
    assert f'href="/office/jobs/cronjob/{schedule.pk}/do/trigger/"' in shown
    assert admin_client.get("/office/jobs/cronjob/preview/?every=60&timezone=UTC&jitter=0").status_code == 200
    assert response.headers["Location"] == f"/office/jobs/cronjob/{schedule.pk}/change/"


@pytest.mark.skipif(connection.vendor == "sqlite", reason="A check refuses SQLite without zones.")
def test_times_are_shown_where_the_site_has_no_zones(admin_client: Client, settings: Any) -> None:
    schedule, _ = waiting()
    settings.USE_TZ = False

    assert admin_client.get(url("cronjob_changelist")).status_code == 200
    assert admin_client.get(page_url(schedule)).status_code == 200


@pytest.mark.parametrize("object_id", ["0", "9" * 30, "nonsense"])
def test_a_schedule_that_is_not_there_is_said_not_to_be(admin_client: Client, object_id: str) -> None:
    response = admin_client.get(f"/admin/jobs/cronjob/{object_id}/change/", follow=True)

    assert response.status_code == 200
    assert "exist" in told(response)[0]


def test_the_page_of_a_slots_job_leads_to_its_schedule(admin_client: Client) -> None:
    schedule = planned(name=SCRIPT)
    job, by_hand = ran(schedule), schedule.trigger()

    def html(job: Job) -> str:
        return admin_client.get(url("job_change", job.pk)).content.decode()

    link = f'<a href="{page_url(schedule)}">{ESCAPED}</a>'
    assert link in html(job)
    assert f"{timezone.localtime(job.scheduled_for):%H:%M:%S}" in html(job).partition(link)[2][:90]
    assert "Run by hand" in html(by_hand).partition(link)[2][:90]
    schedule.delete()
    assert "<dt>Schedule</dt><dd>deleted" in html(job)
