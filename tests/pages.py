"""The README and the docs, taken apart for tests."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from asgiref.sync import async_to_sync
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^(?:<!-- block: (\S+) -->\n)?```(\w+)\n(.*?)^```$", re.M | re.S)


class Block(NamedTuple):
    """A fenced block. A comment before it says what ``kind`` it is, which decides how it is tested; without, it is run."""

    page: Path
    line: int
    language: str
    kind: str
    text: str

    def run(self, names: dict[str, Any]) -> None:
        """Run Python in the namespace ``names``; ``await`` may stand at the top level."""
        # As far down as in the page, so that a traceback points into it.
        source = "\n" * self.line + self.text
        code = compile(source, self.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        result = eval(code, names)
        if inspect.iscoroutine(result):
            async_to_sync(_awaited)(result)


async def _awaited(coroutine: Any) -> None:
    await coroutine


def blocks(language: str | None = None, kind: str | None = None) -> list[Block]:
    """Return the blocks of all pages that name a language; only those of this language and kind, if given."""
    found = [block for page in PAGES for block in _blocks_of(page)]
    return [block for block in found if language in (None, block.language) and kind in (None, block.kind)]


def _blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in BLOCK.finditer(text):
        kind, language, code = match.groups()
        yield Block(page, text.count("\n", 0, match.start(3)), language, kind or "run", code)


def table(heading: str) -> list[list[str]]:
    """Return the cells of the README's table that begins with the heading."""
    (rows,) = re.findall(rf"^\| {re.escape(heading)} \|.*\n\| ---.*\n((?:\|.*\n)+)", README.read_text(), re.M)
    return [[cell.strip() for cell in row.strip("|").split(" |")] for row in rows.splitlines()]


def names(heading: str) -> set[str]:
    """Return what that table is about: the code in its first column, without arguments."""
    return {name for row in table(heading) for name in re.findall(r"`([\w.-]+)", row[0])}


def parser(command: str) -> Any:
    """Return what parses the arguments of a ``manage.py`` command."""
    return load_command_class(get_commands()[command], command).create_parser("manage.py", command)


def subparsers(parser: Any) -> Iterator[Any]:
    """Yield the parsers of all subcommands, and of theirs."""
    for action in parser._subparsers._group_actions if parser._subparsers else []:
        for own in action.choices.values():
            yield own
            yield from subparsers(own)


def commands(blocks: list[Block]) -> list[list[str]]:
    """Return the words after ``manage.py`` in each line of the blocks that has it, in a shell's form or as a list."""
    lines = [line for block in blocks for line in block.text.splitlines() if "manage.py" in line]
    words = [json.loads(line[line.index("[") :]) if '["' in line else shlex.split(line) for line in lines]
    return [each[each.index("manage.py") + 1 :] for each in words]


def options(page: Path) -> set[str]:
    """Return the options that the page's text speaks of."""
    return set(re.findall(r"`(--[\w-]*\w)[ `=]", page.read_text()))


def patience(page: Path) -> list[int]:
    """Return for how many seconds the page's service managers wait before they kill."""
    found = re.findall(
        r"(?:TimeoutStopSec=|stop_grace_period: |terminationGracePeriodSeconds: )(\d+)", page.read_text()
    )
    return [int(seconds) for seconds in found]


def broken_links(page: Path) -> list[str]:
    """Return the page's links to files and headings that are not there."""
    links = re.findall(r"\]\((?!https?:)([^)\s]*)\)", page.read_text())
    return [link for link in links if not _leads_somewhere(page, *link.partition("#")[::2])]


def _leads_somewhere(page: Path, path: str, anchor: str) -> bool:
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    # As GitHub and the package index make them.
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
