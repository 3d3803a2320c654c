"""The show from the first line to the exit code."""

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from jobs import clock
from jobs.models import Job, Worker
from jobs.states import LIVE

from . import cast, shop, table, web
from .cast import Cast
from .crew import Crew
from .endings import Ending, History, judge
from .follower import SETTLING, Follower, subject_of
from .happenings import Happening, Tone
from .processes import ShowCannotGoOn
from .terminal import Terminal
from .web import WebSite

TURN_SECONDS = 0.1
READY_SECONDS = 60.0
VISIT_SECONDS = 10.0
CANCEL_AFTER_SECONDS = 1.0
EXIT_INTERRUPTED = 130


class Show:
    """
    Plays all jobs once. Without a limit of ``seconds`` there is a web site, and customers keep coming until it is stopped.

    It also ends when the process ``parent`` does, since nobody is left then to
    stop it. ``run`` returns the exit code: 0 if all jobs ended as they should
    or, with the web site, after a stop that somebody asked for.
    """

    def __init__(self, terminal: Terminal, *, seconds: float | None, parent: int | None = None) -> None:
        self._terminal = terminal
        self._seconds = seconds
        self._crew = Crew()
        self._site: WebSite | None = None
        self._parent = parent or os.getppid()
        self._stop_requests = 0

    def request_stop(self, *_: object) -> None:
        """Stop in order; if asked twice, at once. It is a signal handler, so it only takes a note."""
        self._stop_requests += 1
        if self._stop_requests > 1:
            self._crew.kill()

    def run(self) -> int:
        self._prepare()
        self._follower = Follower(self._crew.label)
        with ExitStack() as stack:
            stack.enter_context(self._crew).start()
            if self._seconds is None:
                self._site = stack.enter_context(web.running())
            self._wait_until_ready()
            endings = [] if self._is_stopping else self._perform()
            if self._seconds is None:
                self._go_on(endings)
            self._close()
        return 0 if self._seconds is None else self._conclude(endings)

    @property
    def _is_stopping(self) -> bool:
        return self._stop_requests > 0 or os.getppid() != self._parent

    def _prepare(self) -> None:
        call_command("migrate", verbosity=0)
        left = cast.clear_leftovers()
        shop.fill()
        self._terminal.say(f"Database: {_database()}")
        self._terminal.say(f"Mails, reports, logs: {settings.VAR_DIR}")
        if left:
            self._terminal.say(f"Jobs that an earlier demo left, now cancelled: {left}")

    def _wait_until_ready(self) -> None:
        """Wait for every worker's row and for the web site, so that the show opens with all of them there."""
        until = time.monotonic() + READY_SECONDS
        while not self._is_stopping and not self._is_ready():
            self._replace_dead()
            if time.monotonic() > until:
                raise ShowCannotGoOn(f"The workers or the web site do not come up: see the logs in {settings.VAR_DIR}.")
            time.sleep(TURN_SECONDS)

    def _is_ready(self) -> bool:
        pids = self._crew.pids
        registered = Worker.objects.live().filter(pid__in=pids).values("pid").distinct().count()
        return registered == len(pids) and (self._site is None or self._site.answers())

    def _perform(self) -> list[Ending]:
        self._introduce()
        opened_at = clock.read("default")
        self._terminal.start_clock(opened_at)
        played = cast.enqueue(f"{opened_at:%Y%m%d-%H%M%S}")
        self._note(subject_of(played.again), "enqueued once more under its unique key: still the same one job")
        self._play(played)
        self._tell_rest()
        return [judge(role, History.of(role.job_id, self._crew.label)) for role in played.roles]

    def _introduce(self) -> None:
        for line in self._crew.describe():
            self._terminal.say(line)
        if self._site is not None:
            self._terminal.say(f"Admin: {self._site.address}admin/ ({shop.create_admin()})", Tone.STRONG)
            self._terminal.say("Ctrl-C ends the show.")
        self._terminal.say()

    def _play(self, played: Cast) -> None:
        until = time.monotonic() + (self._seconds or float("inf"))
        live = Job.objects.filter(pk__in=[role.job_id for role in played.roles], state__in=LIVE)
        while not self._is_stopping and time.monotonic() < until and live.exists():
            self._cancel_on_cue(played.to_cancel)
            self._turn()

    def _go_on(self, endings: Sequence[Ending]) -> None:
        """Show the table, and let a customer come in now and then."""
        if not self._is_stopping:
            self._show(endings)
            self._terminal.say("Customers keep coming. Look around in the admin, or press Ctrl-C.\n")
        number, next_visit = 0, time.monotonic()
        while not self._is_stopping:
            if time.monotonic() >= next_visit:
                cast.visit(number)
                number, next_visit = number + 1, next_visit + VISIT_SECONDS
            self._turn()

    def _turn(self) -> None:
        self._replace_dead()
        if self._site is not None:
            self._site.check()
        self._terminal.tell(self._follower.read(clock.read("default")))
        time.sleep(TURN_SECONDS)

    def _replace_dead(self) -> None:
        for one in self._crew.replace_dead():
            self._note(one.old, f"{one.fate}; {one.new} takes its place", Tone.BAD)

    def _cancel_on_cue(self, job: Job) -> None:
        started_at = clock.in_seconds(-CANCEL_AFTER_SECONDS)
        if Job.objects.running().filter(pk=job.pk, cancel_requested_at=None, started_at__lt=started_at).exists():
            job.cancel(actor=cast.PERSON, reason="It was counted yesterday.")

    def _note(self, subject: str, text: str, tone: Tone = Tone.FAINT) -> None:
        self._follower.add(Happening(at=clock.read("default"), subject=subject, text=text, tone=tone))

    def _close(self) -> None:
        if self._is_stopping:
            self._terminal.say("Stopping: workers finish what they run, or hand it back.")
        self._crew.stop()
        self._tell_rest()
        if self._is_stopping:
            self._terminal.say("Stopped.")

    def _tell_rest(self) -> None:
        self._terminal.tell(self._follower.read(clock.read("default") + SETTLING))

    def _conclude(self, endings: Sequence[Ending]) -> int:
        if self._is_stopping:
            return EXIT_INTERRUPTED
        self._show(endings)
        return 0 if all(ending.is_right for ending in endings) else 1

    def _show(self, endings: Sequence[Ending]) -> None:
        self._terminal.say()
        for text, tone in table.lines(endings):
            self._terminal.say(text, tone)


def _database() -> str:
    where = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"SQLite, {where['NAME']}"
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (version,) = cursor.fetchone()
    return f"PostgreSQL {version.split()[0]} at {where['HOST']}:{where['PORT']}, {where['NAME']}"
