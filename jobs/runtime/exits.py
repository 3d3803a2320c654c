"""The exit codes of a worker process."""

from __future__ import annotations

EXIT_OK = 0  # asked to stop, spent (--max-jobs and the like), or a burst found no more to do
EXIT_BROKEN = 1  # a thread of the engine failed
EXIT_RELOAD = 3  # the code has changed
EXIT_WEDGED = 75  # a handler ignored its timeout: the process must be replaced
EXIT_DRAINED = 76  # drained by a person: not to be replaced
EXIT_SPENT = 77  # spent, said to a supervisor only: to be replaced, in a burst too

EXPECTED_EXITS = (EXIT_OK, EXIT_RELOAD, EXIT_WEDGED, EXIT_DRAINED, EXIT_SPENT)
