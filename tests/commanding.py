"""``manage.py jobs`` for tests: called, and read."""

from __future__ import annotations

from io import StringIO

from django.core.management import call_command


def run(*arguments: object) -> str:
    """Run ``manage.py jobs`` with these arguments and return what it printed."""
    out = StringIO()
    call_command("jobs", *map(str, arguments), stdout=out)
    return out.getvalue()


def rows_of(table: str) -> dict[str, list[str]]:
    """Return the cells of each line of a printed table, by the first."""
    lines = [line.split() for line in table.splitlines() if line.strip()]
    return {line[0]: line[1:] for line in lines}
