"""That imports run downward only, that ``state`` has its few writers, and that stored time has one clock."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import jobs

pytestmark = pytest.mark.once

ROOT = Path(jobs.__file__).parent
TREES = {
    path.relative_to(ROOT): ast.parse(path.read_text())
    for path in ROOT.rglob("*.py")
    if "migrations" not in path.parts and path != ROOT / "__init__.py"
}

# From the bottom up. A module may import its own layer and those before it.
LAYERS = [
    "exceptions clock states retry outcomes conf payload specs options context registry durations numerals translating cron slots schedule_checks schedule_values declarations",
    "sql signals wakeups",
    "admission enqueueing",
    "models",
    "leases slot_jobs",
    "operations maintenance stats reports schedules importing",
    "runtime testing checks tasks",
    "admin",
    "management templatetags apps",
]
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}
# Fluent doors, such as job.retry(), reach up when they are called.
DOORS = {"models", "registry", "apps"}
CLOCKS = {"timezone.now", "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time"}
WRITERS = {"update", "aupdate", "create", "acreate", "get_or_create", "update_or_create", "Job"}


def top(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Yield the top-level module of each import of our own that is made when ``path`` is imported (or run)."""
    exempt: set[ast.AST] = set()
    for node in ast.walk(TREES[path]):
        if (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING") or (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and top(path) in DOORS
        ):
            exempt |= set(ast.walk(node))
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ImportFrom) and node.level and node not in exempt:
            package = path.parent.parts
            modules = [*package[: len(package) + 1 - node.level], *(node.module or "").split(".")]
            names = [modules[0]] if modules[0] else [alias.name for alias in node.names]
            yield from (name for name in names if not name.startswith("__"))


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call with the name of the function it stands in."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((function.name, node) for node in ast.walk(function) if isinstance(node, ast.Call))


def test_every_module_has_a_layer() -> None:
    assert {top(path) for path in TREES} - set(RANKS) == set()


def test_imports_run_downward() -> None:
    upward = [f"{path} imports {name}" for path in TREES for name in imports(path) if RANKS[name] > RANKS[top(path)]]

    assert upward == []


def test_imports_inside_the_package_are_relative() -> None:
    absolute = [path for path, tree in TREES.items() if re.search(r"^\s*(from|import) jobs\b", ast.unparse(tree), re.M)]

    assert absolute == []


def test_only_move_assigns_a_state() -> None:
    writers = {
        f"{path}: {name}"
        for path, tree in TREES.items()
        for name, call in calls(tree)
        if ast.unparse(call.func).split(".")[-1] in WRITERS and "state" in [keyword.arg for keyword in call.keywords]
    }
    assigned = [
        path
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "state" and isinstance(node.ctx, ast.Store)
    ]

    assert writers == {"models/queryset.py: move"}
    assert assigned == []


def test_only_sql_writes_statements() -> None:
    statement = re.compile(r"\b(UPDATE|INSERT INTO|DELETE FROM)\s+\S*jobs_")
    writers = {top(path) for path in TREES if statement.search((ROOT / path).read_text())}

    assert writers == {"sql"}


def test_stored_time_comes_from_the_databases_clock() -> None:
    read = [
        f"{path}: {ast.unparse(node)}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ".".join(ast.unparse(node).split(".")[-2:]) in CLOCKS
    ]

    # What it measures is how far this host's clock is from the database's.
    assert read == ["runtime/record.py: datetime.now"]


def test_the_package_can_be_imported_before_there_are_settings() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    program = "import jobs; assert str(jobs.Discard()); jobs.Backoff()"

    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
