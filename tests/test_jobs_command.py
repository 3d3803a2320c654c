"""``manage.py jobs``: what each subcommand does, and what it says to wrong input."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from jobs import clock, operations
from jobs.management.subcommands import base, retention
from jobs.models import Job, JobEvent, JobRun, Queue
from jobs.operations import Actor
from jobs.outcomes import Discarded, Failed, Failure
from tests.commanding import rows_of, run
from tests.jobs import echo, noop
from tests.leasing import claim, make_worker, settle

pytestmark = pytest.mark.django_db


def dead_job(**options: Any) -> Job:
    job = noop.using(queue="dying", **options).enqueue()
    (claimed,) = claim(queues=["dying"])
    settle(claimed.lease, Discarded("It was hopeless."))
    return job


def old_job() -> Job:
    job = dead_job()
    days = 24 * 3600
    Job.objects.filter(pk=job.pk).update(finished_at=clock.in_seconds(-40 * days))
    return job


def states(*jobs: Job) -> list[str]:
    found = dict(Job.objects.values_list("pk", "state"))
    return [found[job.pk] for job in jobs]


def test_prune_deletes_what_is_older_than_the_retention_and_counts_it() -> None:
    old_job()
    kept = dead_job()

    printed = run("prune")

    assert list(Job.objects.values_list("pk", flat=True)) == [kept.pk]
    assert rows_of(printed)["What"] == ["Older", "than", "Deleted"]
    assert rows_of(printed)["dead"] == ["30", "d", "1"]
    assert rows_of(printed)["succeeded"] == ["7", "d", "0"]


def test_prune_dry_run_deletes_nothing_and_counts_what_it_would() -> None:
    old_job()

    printed = run("prune", "--dry-run")

    assert Job.objects.count() == 1
    assert rows_of(printed)["dead"] == ["30", "d", "1"]
    assert "Nothing was deleted" in printed


def test_prune_says_what_is_kept_for_ever(settings: Any) -> None:
    settings.JOBS = {"RETENTION": {"dead": None}}
    old_job()

    printed = run("prune")

    assert Job.objects.count() == 1
    assert rows_of(printed)["dead"] == ["(kept", "for", "ever)", "0"]


def test_prune_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PROGRESS_SECONDS", 0)
    old_job()

    assert run("prune").startswith("dead: 1 deleted so far\n")


def test_pause_stops_a_queue_and_records_who_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "deploy")
    noop.using(queue="mail").enqueue()
    Queue.objects.create(name="mail")

    printed = run("pause", "mail", "--reason", "Upgrade")

    queue = Queue.objects.get()
    assert (queue.paused_by, queue.pause_reason, queue.resume_at) == ("deploy (command line)", "Upgrade", None)
    assert JobEvent.objects.get().actor_label == "deploy (command line)"
    assert printed == "Queue 'mail' is paused until it is resumed. Jobs that are running go on.\n"


def test_pause_of_a_queue_that_nobody_has_met_works_and_asks_whether_the_name_is_right() -> None:
    assert "is the name right?" in run("pause", "mial")
    assert Queue.objects.paused().get().name == "mial"


def test_pause_for_some_seconds_ends_that_long_after_the_databases_now() -> None:
    run("pause", "mail", "--for", 90)

    queue = Queue.objects.get()
    assert queue.resume_at is not None
    assert queue.paused_at is not None
    assert queue.resume_at - queue.paused_at == pytest.approx(timedelta(seconds=90), abs=timedelta(seconds=30))


def test_pause_until_a_time_takes_it_in_the_zone_of_the_site(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    printed = run("pause", "mail", "--until", "2999-12-01T10:00")

    assert Queue.objects.get().resume_at == datetime.fromisoformat("2999-12-01T09:00+00:00")
    assert "until 2999-12-01 10:00:00 CET" in printed


def test_pause_until_a_time_takes_the_zone_that_is_given() -> None:
    run("pause", "mail", "--until", "2999-12-01T10:00+05:00")

    assert Queue.objects.get().resume_at == datetime.fromisoformat("2999-12-01T05:00+00:00")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--until", "2001-01-01"], "has passed"),
        (["--until", "soon"], "'soon' is no time: write it as 2026-12-01T10:00"),
        (["--for", "long"], "'long' is not a number of seconds"),
        (["--for", "-1"], "'-1' is not a number of seconds"),
        (["--for", "nan"], "'nan' is not a number of seconds"),
        (["--for", "1", "--until", "2999-01-01"], "not allowed with"),
    ],
)
def test_pause_refuses_an_end_that_cannot_be(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run("pause", "mail", *arguments)
    assert not Queue.objects.exists()


def test_pause_refuses_what_is_no_name_of_a_queue() -> None:
    with pytest.raises(CommandError, match="without commas"):
        run("pause", "a,b")


def test_resume_opens_a_queue_and_records_who() -> None:
    operations.pause("mail")

    assert run("resume", "mail") == "Queue 'mail' is resumed.\n"

    assert not Queue.objects.paused().exists()
    assert JobEvent.objects.latest("id").kind == "resumed"


def test_resume_of_an_open_queue_changes_nothing() -> None:
    Queue.objects.create(name="mail")

    assert run("resume", "mail") == "Queue 'mail' was not paused.\n"


@pytest.mark.parametrize(("known", "said"), [(["a", "b"], "the known ones are a, b"), ([], "the known ones are none")])
def test_resume_of_an_unknown_queue_names_the_known_ones(known: list[str], said: str) -> None:
    for name in known:
        Queue.objects.create(name=name)

    with pytest.raises(CommandError, match=said):
        run("resume", "mail")


def test_queues_shows_which_are_paused_by_whom_until_when_and_why() -> None:
    Queue.objects.create(name="mail")
    resume_at = datetime.fromisoformat("2999-01-02T03:04:05+00:00")
    operations.pause("reports", actor=Actor("1", "bob"), reason="Upgrade", resume_at=resume_at)
    operations.pause("crm")

    printed = run("queues")

    assert rows_of(printed)["mail"] == ["open"]
    assert rows_of(printed)["crm"][-1] == "resumed"
    assert rows_of(printed)["reports"][:2] == ["paused", "bob"]
    assert rows_of(printed)["reports"][-4:] == ["2999-01-02", "03:04:05", "UTC", "Upgrade"]


def test_queues_without_any_says_so() -> None:
    assert run("queues") == "No worker and no person has met a queue yet.\n"


def test_workers_shows_how_each_is() -> None:
    make_worker("host:1:abc", queues=["mail"], running=3)
    make_worker("host:2:def", stopped_at=clock.now())

    printed = run("workers")

    assert rows_of(printed)["host:1:abc"][:6] == ["live", "3", "of", "4", "mail", "1"]
    assert rows_of(printed)["host:2:def"][:5] == ["stopped", "0", "of", "4", "all"]


def test_workers_without_any_says_so() -> None:
    assert run("workers") == "No worker has run lately.\n"


def test_drain_asks_the_worker_and_records_why() -> None:
    worker = make_worker("host:1:abc")

    printed = run("drain", "host:1:abc", "--reason", "Upgrade")

    worker.refresh_from_db()
    assert worker.drain_requested_at is not None
    assert (JobEvent.objects.get().worker, JobEvent.objects.get().reason) == ("host:1:abc", "Upgrade")
    assert printed == "Worker 'host:1:abc' was asked to finish what it runs and end.\n"


@pytest.mark.parametrize(
    ("values", "said"),
    [({"drain_requested_at": clock.now()}, "was asked before"), ({"stopped_at": clock.now()}, "has stopped")],
    ids=["asked before", "stopped"],
)
def test_drain_of_a_worker_that_is_ending_anyway_changes_nothing(values: Any, said: str) -> None:
    make_worker("host:1:abc", **values)

    assert run("drain", "host:1:abc") == f"Worker 'host:1:abc' {said}.\n"
    assert not JobEvent.objects.exists()


def test_drain_of_an_unknown_worker_says_where_the_names_are() -> None:
    with pytest.raises(CommandError, match="`jobs workers` shows their names"):
        run("drain", "host:1:abc")


def test_retry_moves_the_jobs_named_and_records_who_and_why() -> None:
    jobs = [dead_job(), dead_job()]

    printed = run("retry", jobs[0].pk, f"#{jobs[1].pk}", "--reason", "It is fixed.")

    assert states(*jobs) == ["pending", "pending"]
    assert printed == "2 jobs are pending again.\n"
    assert set(JobEvent.objects.values_list("kind", "reason")) == {("retried", "It is fixed.")}


def test_retry_of_a_job_that_is_not_there_does_nothing_to_the_others() -> None:
    job = dead_job()

    with pytest.raises(CommandError, match=rf"There is no job #{job.pk + 1}, #{job.pk + 2}: nothing was done\."):
        run("retry", job.pk, job.pk + 2, job.pk + 1)
    assert states(job) == ["dead"]


def test_retry_that_moves_nothing_fails_and_says_how_the_jobs_stand() -> None:
    job = noop.enqueue()

    with pytest.raises(CommandError, match=rf"#{job.pk} is Pending; this is for Dead, Cancelled"):
        run("retry", job.pk)


def test_retry_names_the_job_that_has_the_key() -> None:
    blocked, free = dead_job(unique_key="order:7"), dead_job()
    twin = noop.using(unique_key="order:7").enqueue()

    printed = run("retry", blocked.pk, free.pk)

    assert f"Job #{blocked.pk} was left alone: job #{twin.pk} has its unique key." in printed
    assert states(blocked, free) == ["dead", "pending"]


def test_retry_by_description_takes_dead_jobs_unless_told_otherwise() -> None:
    dead, cancelled = dead_job(), noop.enqueue()
    cancelled.cancel()

    run("retry", "--kind", "noop")
    assert states(dead, cancelled) == ["pending", "cancelled"]
    run("retry", "--kind", "noop", "--state", "cancelled")

    assert states(cancelled) == ["pending"]


def test_retry_by_description_takes_only_what_fits_all_of_it() -> None:
    jobs = [dead_job(), dead_job()]
    Job.objects.filter(pk=jobs[0].pk).update(kind="other")

    run("retry", "--kind", "other", "--queue", "dying", "--state", "dead")

    assert states(*jobs) == ["pending", "dead"]


def test_a_description_that_fits_no_job_says_so() -> None:
    assert run("retry", "--kind", "nothing") == "No job fits that description.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name jobs by their ids, or describe them"),
        (["1", "--kind", "noop"], "one of the two"),
        (["x"], "'x' is no id of a job"),
        (["--state", "running"], "invalid choice: 'running'"),
    ],
    ids=["nothing", "both", "no id", "wrong state"],
)
def test_retry_refuses_what_says_not_which_jobs(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run("retry", *arguments)


def test_cancel_ends_waiting_jobs_and_asks_running_ones() -> None:
    running = noop.enqueue()
    claim()
    waiting = noop.enqueue()

    printed = run("cancel", waiting.pk, running.pk, "--reason", "wrong file")

    assert states(waiting, running) == ["cancelled", "running"]
    assert printed == "1 job was cancelled.\n1 running job was asked to stop.\n"


def test_cancel_by_description_takes_every_live_state() -> None:
    jobs = [noop.using(queue="mail", delay=delay).enqueue() for delay in (0, 60)]
    other = noop.enqueue()

    run("cancel", "--queue", "mail")

    assert states(*jobs, other) == ["cancelled", "cancelled", "pending"]


def test_show_tells_what_a_job_is_and_what_happened_to_it() -> None:
    job = echo.using(unique_key="order:7", queue="mail", max_attempts=5).enqueue({"order": 7})
    (claimed,) = claim()
    failure = Failure(exception_class="ValueError", message="boo", traceback="Traceback: line 7")
    settle(claimed.lease, Failed(failure=failure), duration=2.5)
    job.trigger(actor=Actor("1", "bob"), reason="It is fixed.")

    printed = run("show", job.pk)

    for text in (f"#{job.pk} echo", "Pending", "mail, priority 0", "1 of 5", "order:7", '[{"order": 7}]'):
        assert text in printed
    for text in ("Enqueued", "Attempt 1: Failed", "w1", "2.5 s", "ValueError: boo", "Run now", "bob", "It is fixed."):
        assert text in printed
    assert printed.endswith("\n\nTraceback: line 7\n")


def test_show_of_a_new_job_has_no_traceback_and_cuts_large_data() -> None:
    job = echo.enqueue("x" * 5_000)

    printed = run("show", job.pk)

    assert "Traceback" not in printed
    assert "… (5,004 characters)" in printed


def test_show_of_a_job_that_is_not_there_fails() -> None:
    with pytest.raises(CommandError, match="There is no job #999"):
        run("show", 999)


def test_every_subcommand_takes_the_database() -> None:
    assert "No worker" in run("queues", "--database", "default")
    with pytest.raises(CommandError, match=r"--database='nowhere' is not in DATABASES: it has default\."):
        run("queues", "--database", "nowhere")


def test_a_user_without_a_name_is_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(base.getpass, "getuser", nameless)

    run("pause", "mail")

    assert Queue.objects.get().paused_by == "somebody (command line)"


def test_a_call_without_a_subcommand_names_them() -> None:
    with pytest.raises(CommandError, match="required: subcommand"):
        run()


@pytest.mark.once
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["queues", "--settings=tests.settings", "--traceback", "-v", "0"], 0, "No worker"),
        (["resume", "mail"], 1, "There is no queue 'mail'"),
        (["retry", "x"], 2, "no id of a job"),
    ],
    ids=["fine", "refused", "not understood"],
)
def test_the_exit_code_tells_whether_it_went_well(
    database_url: str, arguments: list[str], code: int, said: str
) -> None:
    environment = os.environ | {"DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    command = [sys.executable, "manage.py", "jobs", *arguments]

    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, env=environment, capture_output=True, text=True, check=False
    )

    assert (done.returncode, said in done.stdout + done.stderr) == (code, True)


def test_prune_counts_runs_and_events_too() -> None:
    dead_job()
    JobRun.objects.update(finished_at=clock.in_seconds(-100 * 24 * 3600))

    assert rows_of(run("prune"))["runs"] == ["90", "d", "1"]
