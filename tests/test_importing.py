"""Importing schedules from the other apps themselves, where they are installed, and what the command says of it."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps
from django.core.management import CommandError
from django.db import connection

from jobs import importing
from jobs.cron.expressions import parse
from jobs.importing import SOURCES, Found
from jobs.importing.crontabs import expression
from jobs.models import CronJob
from tests.commanding import run
from tests.leasing import in_threads
from tests.scheduling import make, now

pytestmark = pytest.mark.django_db

beat = pytest.mark.skipif(
    not find_spec("django_celery_beat"),
    reason="django-celery-beat is not installed: it is in the group moving, and not for every Django",
)
q2 = pytest.mark.skipif(not find_spec("django_q"), reason="django-q2 is not installed: it is in the group moving")


def periodic_task(name: str, *, crontab: str | None = None, **values: Any) -> Any:
    """Return a periodic task of ``echo``, each hour unless told otherwise."""
    from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

    if crontab is not None:
        fields = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
        texts = dict(zip(fields, crontab.split(), strict=True))
        values["crontab"] = CrontabSchedule.objects.create(**texts, timezone=ZoneInfo("Europe/Berlin"))
    if not {"crontab", "clocked", "solar", "interval"} & set(values):
        values["interval"] = IntervalSchedule.objects.create(every=1, period="hours")
    return PeriodicTask.objects.create(name=name, **{"task": "echo", "args": "[7]"} | values)


def q2_schedule(**values: Any) -> Any:
    from django_q.models import Schedule

    return Schedule.objects.create(**{"func": "echo", "args": "7", "schedule_type": "H"} | values)


def found(source: str) -> dict[str, Found]:
    return {each.name: each for each in SOURCES[source].found(now=now())}


@beat
def test_periodic_tasks_are_shown_and_not_written() -> None:
    periodic_task("nightly", crontab="0 3 * * mon-fri", description="For the boss.")

    printed = run("cron", "import", "--from", "celery-beat")

    lines = printed.splitlines()
    assert lines[0] == "nightly"
    assert lines[1].split() == ["kind", "echo"]
    assert lines[2].split(maxsplit=1) == ["rule", "0 3 * * mon-fri in Europe/Berlin"]
    assert lines[3].count("03:00:00 CE") == 3
    assert lines[4].split(maxsplit=1) == ["enabled", "no, unless by --enable"]
    assert lines[5].split(maxsplit=1) == ["lost", "The description."]
    assert printed.endswith("1 of 1 can be created. Nothing was written: --apply creates them.\n")
    assert not CronJob.objects.exists()


@beat
def test_apply_creates_them_once_and_disabled() -> None:
    periodic_task("nightly", crontab="0 3 * * *")
    periodic_task("hourly", queue="mail", expire_seconds=60)

    first = run("cron", "import", "--from", "celery-beat", "--apply")
    second = run("cron", "import", "--from", "celery-beat", "--apply")

    hourly, nightly = CronJob.objects.order_by("name")
    assert (nightly.expression, nightly.timezone, nightly.args) == ("0 3 * * *", "Europe/Berlin", [7])
    assert (hourly.every, hourly.queue, hourly.expires_after) == (3_600, "mail", 60)
    assert {hourly.origin, nightly.origin, hourly.enabled, nightly.enabled} == {CronJob.Origin.PERSON, False}
    assert "Created 2 of 2, 0 of them enabled.\nStop the other app" in first
    assert (
        "Created 0 of 2, 0 of them enabled.\nLeft alone, since there is a schedule of that name: hourly, nightly."
        in second
    )


@beat
def test_enable_leaves_disabled_what_is_so_or_has_no_handler() -> None:
    periodic_task("on")
    periodic_task("off", enabled=False)
    periodic_task("strange", task="nobody.knows")

    printed = run("cron", "import", "--from", "celery-beat", "--apply", "--enable")

    assert dict(CronJob.objects.values_list("name", "enabled")) == {"on": True, "off": False, "strange": False}
    assert "enabled    no, nor was it" in printed
    assert "enabled    no, see below\n  held back  No handler is registered for kind 'nobody.knows'" in printed


@beat
def test_a_bad_row_stops_no_other() -> None:
    from django_celery_beat.models import ClockedSchedule, SolarSchedule

    periodic_task("bad args", args="[1")
    periodic_task("bad fit", kwargs='{"more": 1}')
    periodic_task("bad fields", crontab="0 3 * * 9")
    periodic_task("over", clocked=ClockedSchedule.objects.create(clocked_time=now()), one_off=True)
    periodic_task("sunset", solar=SolarSchedule.objects.create(event="sunset", latitude=52.5, longitude=13.4))
    periodic_task("well")

    printed = run("cron", "import", "--from", "celery-beat", "--apply")

    assert CronJob.objects.get().name == "well"
    assert "Refused, see above: bad args, bad fields, bad fit, over, sunset." in printed
    assert "\nsunset\n  refused  It follows the sun (sunset)" in printed


@beat
def test_a_clocked_task_has_one_slot() -> None:
    from django_celery_beat.models import ClockedSchedule

    moment = datetime(2999, 1, 2, 3, 4, 5, tzinfo=UTC)
    periodic_task("once", clocked=ClockedSchedule.objects.create(clocked_time=moment), one_off=True)

    run("cron", "import", "--from", "celery-beat", "--apply")

    assert CronJob.objects.get().upcoming() == [moment]


@beat
@pytest.mark.parametrize(
    "text",
    [
        "*/7 8-18/3 * * *",
        "0 22-4/2 * nov-feb *",
        "0 0 */3 1-12/5 *",
        "0 0 * * fri-mon",
        "0 0 15-20 february *",
        "*/70 0 * * sunday",
    ],
)
def test_each_field_means_what_it_does_in_celery(text: str) -> None:
    from celery.schedules import crontab

    minute, hour, date, month, weekday = text.split()
    theirs = crontab(minute, hour, day_of_month=date, month_of_year=month, day_of_week=weekday)

    ours = parse(expression(*text.split()))

    assert (set(ours.times.minutes), set(ours.times.hours)) == (theirs.minute, theirs.hour)
    assert {day for day in range(31) if ours.days.dates >> day & 1} == {day - 1 for day in theirs.day_of_month}
    assert ours.days.months == theirs.month_of_year
    assert {day for day, _ in ours.days.weekdays} == theirs.day_of_week


@q2
def test_schedules_of_django_q2_are_created() -> None:
    q2_schedule(name="five", schedule_type="I", minutes=5, kwargs="{}", cluster="reports")
    q2_schedule(schedule_type="C", cron="0 6 * * 1", args="'x'")
    q2_schedule(name="thrice", repeats=3)
    q2_schedule(name="broken", args="x")

    printed = run("cron", "import", "--from", "django-q2", "--apply", "--enable")

    schedules = {schedule.name.split("#")[0]: schedule for schedule in CronJob.objects.all()}
    assert {name: schedule.enabled for name, schedule in schedules.items()} == {
        "five": True,
        "echo ": True,
        "thrice": False,
    }
    assert (schedules["five"].every, schedules["five"].args) == (300, [7])
    assert (schedules["echo "].expression, schedules["echo "].args) == ("0 6 * * 1", ["x"])
    assert "lost       The cluster 'reports'" in printed
    assert "held back  It was to run 3 more times" in printed
    assert "Refused, see above: broken." in printed


@q2
@pytest.mark.parametrize("kind", ["D", "W", "M", "BM", "Q", "Y"])
def test_calendar_types_run_when_they_do_in_django_q2(
    kind: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django_q.conf import Conf

    settings.Q_CLUSTER = {"time_zone": "Europe/Berlin"}
    monkeypatch.setattr(Conf, "TIME_ZONE", "Europe/Berlin")
    theirs = q2_schedule(name="it", schedule_type=kind, next_run=datetime(2027, 3, 15, 5, 30, tzinfo=UTC))

    ours = found("django-q2")["it"].schedule().upcoming(20, after=theirs.next_run)

    for moment in ours:
        theirs.next_run = theirs.calculate_next_run()
        assert moment == theirs.next_run


@q2
def test_the_zone_is_the_sites_unless_the_cluster_has_one(settings: Any) -> None:
    q2_schedule(name="it", schedule_type="D")
    settings.TIME_ZONE = "Asia/Kolkata"
    assert found("django-q2")["it"].values["timezone"] == "Asia/Kolkata"

    settings.Q_CLUSTER = {"time_zone": "Europe/Berlin"}

    assert found("django-q2")["it"].values["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize(("source", "app"), [("celery-beat", "django_celery_beat"), ("django-q2", "django_q")])
def test_an_app_that_is_not_installed_is_named(source: str, app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "is_installed", lambda name: False)

    with pytest.raises(CommandError, match=rf"'{app}' is not in INSTALLED_APPS.*pip install django-") as raised:
        run("cron", "import", "--from", source)
    assert f"add '{app}' there" in str(raised.value)


@q2
def test_tables_that_are_not_there_are_named() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE django_q_schedule")

    with pytest.raises(CommandError, match="The tables of django-q2 cannot be read; are they migrated"):
        run("cron", "import", "--from", "django-q2")


def test_an_unknown_source_is_met_with_the_known() -> None:
    with pytest.raises(CommandError, match="invalid choice: 'rq'"):
        run("cron", "import", "--from", "rq")


@pytest.mark.django_db(transaction=True)
def test_two_who_import_at_once_create_each_schedule_once() -> None:
    listed = [Found(name=f"schedule {number}", values={"kind": "noop", "every": 60}) for number in range(20)]

    def create() -> int:
        return len(importing.create(listed, enable=False, using="default").created)

    assert sum(in_threads(create, create)) == 20
    assert CronJob.objects.count() == 20


def test_a_name_that_a_schedule_has_is_left_alone() -> None:
    make(name="it", every=60)

    done = importing.create([Found(name="it", values={"kind": "noop", "every": 90})], enable=True, using="default")

    assert (done.created, done.present) == ([], ["it"])
    assert CronJob.objects.get().every == 60
