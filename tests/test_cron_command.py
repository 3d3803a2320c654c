"""``manage.py jobs cron``: what each subcommand does, and what it says to wrong input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from jobs import clock, declarations, schedule
from jobs.models import CronJob, Job, JobEvent
from jobs.slots import NEVER
from jobs.testing import run_jobs
from tests.commanding import rows_of, run
from tests.jobs import echo, noop
from tests.scheduling import HOUR, make, missed, now, planned, tick

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations, "_declared", {})


def cells(name: str) -> dict[str, str]:
    """Return what ``cron list`` shows of a schedule, by heading."""
    headings, *lines = run("cron", "list").splitlines()
    (line,) = [line for line in lines if line.startswith(name)]
    starts = [match.start() for match in re.finditer(r"\S+( run)?", headings)]
    columns = [slice(*ends) for ends in zip_longest(starts, starts[1:])]
    return {headings[column].strip(): line[column].strip() for column in columns}


def test_list_without_any_says_so() -> None:
    assert run("cron", "list") == "There are no schedules yet.\n"


def test_list_shows_the_rule_and_the_next_run() -> None:
    schedule = planned(name="nightly", expression="0 3 * * *", timezone="Europe/Berlin")

    shown = cells("nightly")

    assert (shown["Rule"], shown["Zone"], shown["Status"]) == ("0 3 * * *", "Europe/Berlin", "enabled")
    assert shown["Next run"] == f"{schedule.next_run_at:%Y-%m-%d %H:%M:%S} UTC"
    assert (shown["Last run"], shown["Outcome"], shown["Trouble"]) == ("never", "", "")


def test_list_shows_how_the_last_run_went() -> None:
    missed(1, name="broken", kind="fail", max_attempts=1)
    tick()
    run_jobs(raise_errors=False)

    shown = cells("broken")

    assert (shown["Rule"], shown["Outcome"]) == ("every 1 h", "Dead")
    assert shown["Last run"].endswith("UTC")


@pytest.mark.parametrize(
    ("values", "column", "said"),
    [
        ({"enabled": False}, "Status", "disabled"),
        ({"enabled": False}, "Next run", ""),
        ({"next_run_at": NEVER, "error": "No such zone."}, "Next run", "none"),
        ({"next_run_at": NEVER, "error": "No such zone."}, "Trouble", "No such zone."),
        ({}, "Next run", "not planned yet"),
    ],
    ids=["disabled", "without next run", "stopped", "with error", "new"],
)
def test_list_shows_how_a_schedule_stands(values: dict[str, Any], column: str, said: str) -> None:
    schedule = make(name="it")
    CronJob.objects.filter(pk=schedule.pk).update(**values)

    assert cells("it")[column] == said


def test_list_shows_how_late_a_schedule_is() -> None:
    schedule = planned(name="it")
    CronJob.objects.filter(pk=schedule.pk).update(next_run_at=clock.in_seconds(-7_200))

    assert cells("it")["Trouble"] == "late by 2 h"


def test_list_shows_what_runs_once() -> None:
    moment = datetime.fromisoformat("2999-01-02T03:04:05+00:00")
    make(name="it", every=HOUR, starts_at=moment, ends_at=moment)

    assert cells("it")["Rule"] == "once, at 2999-01-02 03:04:05 UTC"


def test_pause_and_resume_record_who_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "deploy")
    schedule = planned(name="nightly")

    paused = run("cron", "pause", "nightly", "--reason", "Upgrade")
    schedule.refresh_from_db()
    assert (schedule.enabled, paused) == (
        False,
        "Schedule 'nightly' is disabled. Jobs of it that are running go on.\n",
    )
    resumed = run("cron", "resume", "nightly")

    schedule.refresh_from_db()
    assert (schedule.enabled, resumed) == (
        True,
        "Schedule 'nightly' is resumed. What it missed meanwhile does not run.\n",
    )
    assert [(event.kind, event.actor_label, event.reason) for event in JobEvent.objects.order_by("id")] == [
        ("disabled", "deploy (command line)", "Upgrade"),
        ("enabled", "deploy (command line)", ""),
    ]


def test_pause_and_resume_of_what_is_so_anyway_change_nothing() -> None:
    make(name="on")
    make(name="off", enabled=False)

    assert run("cron", "pause", "off") == "Schedule 'off' was disabled before.\n"
    assert run("cron", "resume", "on") == "Schedule 'on' was not disabled.\n"
    assert not JobEvent.objects.exists()


def test_resume_asks_about_a_kind_that_nobody_here_handles() -> None:
    make(name="it", kind="nobody.knows", enabled=False)

    assert "No handler of 'nobody.knows' is registered here: is the name right?" in run("cron", "resume", "it")


def test_run_enqueues_one_extra_run() -> None:
    schedule = planned(name="it", kind="echo", payload={"value": 7}, enabled=False)

    printed = run("cron", "run", "it", "--reason", "to see")

    job = Job.objects.get()
    assert (job.kind, job.payload, job.cron_id, job.origin) == ("echo", {"value": 7}, schedule.pk, Job.Origin.MANUAL)
    assert f"Job #{job.pk} echo is enqueued." in printed
    assert JobEvent.objects.get().reason == "to see"


def test_run_with_a_taken_key_fails() -> None:
    make(name="it", unique_key="k")
    run("cron", "run", "it")

    with pytest.raises(CommandError, match="unique key 'k'"):
        run("cron", "run", "it")


@pytest.mark.parametrize("subcommand", ["pause", "resume", "run", "upcoming"])
def test_an_unknown_name_is_met_with_the_nearest(subcommand: str) -> None:
    make(name="nightly report")

    with pytest.raises(CommandError, match=r"no schedule 'nightly reprot': did you mean 'nightly report'\?"):
        run("cron", subcommand, "nightly reprot")
    with pytest.raises(CommandError, match="no schedule 'x': `jobs cron list` shows"):
        run("cron", subcommand, "x")


def test_upcoming_shows_the_clock_of_the_zone_and_utc() -> None:
    make(name="it", expression="0 3 * * *", timezone="Asia/Kolkata")

    lines = run("cron", "upcoming", "it", "--count", 2).splitlines()

    assert lines[0].split() == ["In", "Asia/Kolkata", "In", "UTC", "Note"]
    assert [line.split()[1:3] + line.split()[4:] for line in lines[1:]] == [["03:00:00", "IST", "21:30:00", "UTC"]] * 2


def test_upcoming_says_what_a_change_of_the_clocks_does() -> None:
    start = datetime.fromisoformat("2999-03-30T00:00+00:00")
    make(name="it", expression="30 2 * * *", timezone="Europe/Berlin", starts_at=start)

    assert "02:30 is skipped that day: runs at 03:00." in run("cron", "upcoming", "it", "--count", 3)


def test_upcoming_ends_with_the_schedule() -> None:
    make(name="it", starts_at=now(), ends_at=now() + timedelta(seconds=2.5 * HOUR))

    assert len(run("cron", "upcoming", "it").splitlines()) == 3


def test_upcoming_of_what_is_over_says_so() -> None:
    make(name="it", ends_at=now() - timedelta(days=1))

    assert run("cron", "upcoming", "it") == "There are none.\n"


def test_upcoming_says_that_it_is_paused_and_what_the_jitter_adds() -> None:
    make(name="it", enabled=False, jitter=3_600)

    printed = run("cron", "upcoming", "it")

    assert printed.startswith("It is disabled")
    assert "Its jitter adds" in printed.splitlines()[-1]


def test_upcoming_refuses_a_count_that_is_none() -> None:
    with pytest.raises(CommandError, match="'0' is no number of runs"):
        run("cron", "upcoming", "it", "--count", 0)


def test_sync_writes_what_is_declared_and_says_so_once() -> None:
    schedule(echo, cron="0 6 * * *", payload={"value": 1})

    assert run("cron", "sync").split() == ["created", "echo"]
    assert CronJob.objects.get().expression == "0 6 * * *"
    assert run("cron", "sync") == "The schedules are as the code declares them.\n"


def test_sync_tells_what_it_changed_kept_and_disabled() -> None:
    for name in ("edited", "changed", "removed"):
        schedule(noop, every=60, name=name)
    run("cron", "sync")
    CronJob.objects.filter(name="edited").update(every=120)
    declarations._declared.clear()
    schedule(noop, every=90, name="edited")
    schedule(noop, every=90, name="changed")

    printed = rows_of(run("cron", "sync"))

    assert printed == {
        "updated": ["changed", "every"],
        "kept": ["edited", "every:", "changed", "by", "a", "person"],
        "disabled": ["removed", "no", "longer", "declared"],
    }


def test_sync_dry_run_writes_nothing() -> None:
    schedule(noop, every=60)

    printed = run("cron", "sync", "--dry-run")

    assert "Nothing was written" in printed
    assert not CronJob.objects.exists()


def test_sync_fails_after_the_others_if_one_is_refused() -> None:
    schedule(noop, every=60)
    schedule("nobody.knows", every=60)

    with pytest.raises(CommandError, match=r"1 schedule was refused\."):
        run("cron", "sync")
    assert CronJob.objects.get().name == "noop"


def hours(*back: int) -> list[str]:
    """Return full hours of the past, as somebody would type them."""
    this = now().replace(minute=0, second=0, microsecond=0)
    return [(this - timedelta(hours=hour)).isoformat() for hour in back]


def test_backfill_makes_the_jobs_that_are_missing() -> None:
    begin, end = hours(5, 3)
    planned(name="it", starts_at=None)

    printed = run("cron", "backfill", "it", "--from", begin, "--to", end, "--reason", "outage")
    again = run("cron", "backfill", "it", "--from", begin, "--to", end)

    assert printed.startswith("3 slots got a job, from ")
    assert Job.objects.filter(origin=Job.Origin.BACKFILL).count() == 3
    assert JobEvent.objects.get().reason == "outage"
    assert again.startswith("No slot got a job.\n3 slots had one before, from ")


def test_backfill_dry_run_makes_none() -> None:
    begin, end = hours(3, 3)
    planned(name="it", starts_at=None)

    printed = run("cron", "backfill", "it", "--from", begin, "--to", end, "--dry-run")

    assert printed.startswith("1 slot would get a job: ")
    assert "Nothing was written" in printed
    assert not Job.objects.exists()


def test_backfill_tells_which_slots_found_their_key_taken() -> None:
    begin, end = hours(4, 3)
    planned(name="it", unique_key="k", starts_at=None)

    printed = run("cron", "backfill", "it", "--from", begin, "--to", end)

    assert printed.startswith("1 slot got a job: ")
    assert "1 slot got none, since another live job holds the unique key" in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--limit", "2"], "There are 3 slots in that time: backfill at most 2"),
        (["--limit", "0"], "'0' is no limit"),
        (["--to", "2999-01-01"], "is not past"),
        (["--to", "soon"], "'soon' is no time"),
        (["--from", "0001-01-01T00:00+05:00"], "is no time"),
        (["--from", "0001-01-01"], "before 1970"),
        (["--from", "1969-12-31", "--dry-run"], "before 1970"),
    ],
)
def test_backfill_refuses_what_cannot_be(arguments: list[str], said: str) -> None:
    begin, end = hours(5, 3)
    planned(name="it", starts_at=None)

    with pytest.raises(CommandError, match=said):
        run("cron", "backfill", "it", "--from", begin, "--to", end, *arguments)
    assert not Job.objects.exists()


def test_a_call_without_a_second_word_names_them() -> None:
    with pytest.raises(CommandError, match="required: subcommand"):
        run("cron")


def test_every_subcommand_takes_the_database() -> None:
    assert run("cron", "list", "--database", "default")
    with pytest.raises(CommandError, match="--database='nowhere' is not in DATABASES"):
        run("cron", "list", "--database", "nowhere")


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["list", "--settings=tests.settings", "-v", "0"], 0, "no schedules"),
        (["pause", "x"], 1, "There is no schedule 'x'"),
        (["backfill", "x"], 2, "required: --from, --to"),
    ],
    ids=["fine", "refused", "not understood"],
)
def test_the_exit_code_tells_whether_it_went_well(
    database_url: str, arguments: list[str], code: int, said: str
) -> None:
    environment = os.environ | {"DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "manage.py", "jobs", "cron", *arguments]

    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, env=environment, capture_output=True, text=True, check=False
    )

    assert (done.returncode, said in done.stdout + done.stderr) == (code, True)
