"""The show's workers, replaced when they die."""

import subprocess
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import processes
from .processes import ShowCannotGoOn

# So many deaths in so short a time are not the crash job's doing.
MOST_DEATHS = 5
DEATHS_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Post:
    """What a worker is for: its command line options. Whoever replaces a dead worker takes its post."""

    queues: str
    concurrency: int

    @property
    def options(self) -> list[str]:
        return [f"--queues={self.queues}", f"--concurrency={self.concurrency}", "--grace=1", "--no-reload"]


# Jobs that may take their process with them have a queue of their own, and
# workers that do one thing at a time: so no other job goes down with them. And
# there is one printer, so one worker with one slot serves its queue.
POSTS = (Post("mail,reports,default", 4), Post("printing,risky", 1), Post("risky", 1))


@dataclass(frozen=True, slots=True)
class Worker:
    name: str
    post: Post
    process: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Replacement:
    """``fate`` says how the old worker ended, as in ``killed by SIGKILL``."""

    old: str
    fate: str
    new: str


class Crew:
    """Starts workers, replaces those that die, and stops all of them on leaving its ``with`` block."""

    def __init__(self, posts: Sequence[Post] = POSTS) -> None:
        self._posts = posts
        self._workers: list[Worker] = []
        self._names: dict[str, str] = {}
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start a worker for each post; call it inside the ``with`` block."""
        for post in self._posts:
            self._start(post)

    @property
    def pids(self) -> list[int]:
        return [worker.process.pid for worker in self._workers]

    def label(self, worker: str) -> str:
        """Return our short name for a worker that the database calls ``host:pid:random``, or its own if it is not ours."""
        pid = worker.split(":")[-2] if ":" in worker else ""
        return self._names.get(pid, worker)

    def describe(self) -> Iterator[str]:
        """Yield a line for each worker."""
        for worker in self._workers:
            post = worker.post
            yield f"{worker.name} (process {worker.process.pid}): {post.concurrency} at a time from {post.queues}"

    def replace_dead(self) -> list[Replacement]:
        """Start a worker for each that has ended; raise ``ShowCannotGoOn`` if that does not help."""
        dead = [worker for worker in self._workers if worker.process.poll() is not None]
        return [self._replace(worker) for worker in dead]

    def stop(self) -> None:
        """End all workers: in order first, by force in the end. A second call finds none."""
        processes.stop([worker.process for worker in self._workers])
        self._workers = []

    def kill(self) -> None:
        """End all workers at once."""
        for worker in self._workers:
            worker.process.kill()

    def _replace(self, worker: Worker) -> Replacement:
        self._workers.remove(worker)
        fate = processes.fate(worker.process.returncode)
        self._deaths.append(time.monotonic())
        if len(self._deaths) == MOST_DEATHS and self._deaths[-1] - self._deaths[0] < DEATHS_SECONDS:
            raise ShowCannotGoOn(
                f"{worker.name} was {fate}, as others before it. Its output ends so:\n{processes.tail(worker.name)}"
            )
        return Replacement(worker.name, fate, self._start(worker.post).name)

    def _start(self, post: Post) -> Worker:
        name = f"worker-{len(self._names) + 1}"
        worker = Worker(name, post, processes.start(name, "runworkers", *post.options))
        self._workers.append(worker)
        self._names[str(worker.process.pid)] = name
        return worker
