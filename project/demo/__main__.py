"""``python -m project.demo``: what ``manage.py demo`` starts once there is a database."""

import argparse
import os
import signal
import sys

import django


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m project.demo")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--parent", type=int, help="The process to stop with.")
    options = parser.parse_args()
    django.setup()
    # Only now can models be imported.
    from .processes import ShowCannotGoOn
    from .show import Show
    from .terminal import Terminal

    show = Show(Terminal(), seconds=options.seconds, parent=options.parent)
    # In the background of a terminal, where some make writing stop a process.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, show.request_stop)
    try:
        return show.run()
    except ShowCannotGoOn as error:
        sys.stderr.write(f"{error}\n")
    except BrokenPipeError:
        # The reader has gone, as with `| head`; Python would complain once more at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


if __name__ == "__main__":
    sys.exit(main())
