"""What the README and the docs show works: their code runs, their commands parse, their links lead somewhere."""

from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobs import checks, conf
from jobs.runtime.shutdown import longest_end
from jobs.testing import run_jobs
from tests import pages
from tests.pages import Block
from tests.registering import own_registry

OF_SERVICE_MANAGERS = ("ini", "yaml")
SHELL = [line for block in pages.blocks("sh") for line in block.text.splitlines()]


def each(blocks: list[Block]) -> Any:
    return pytest.mark.parametrize("block", blocks, ids=[f"{block.page.name}:{block.line}" for block in blocks])


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    """The site that the pages speak of: ``shop.jobs`` is made of their blocks, what else it has is a dummy."""
    settings.MAILERS = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}
    package, handlers = ModuleType("shop"), ModuleType("shop.jobs")
    package.__getattr__ = lambda name: name  # type: ignore[method-assign]
    for name, module in {"shop": package, "shop.models": package, "shop.jobs": handlers}.items():
        monkeypatch.setitem(sys.modules, name, module)
    with own_registry():
        for block in pages.blocks("python", "shop/jobs.py"):
            block.run(vars(handlers))
        yield


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    python = {("python", kind) for kind in ("run", "settings", "shop/jobs.py", "tests")}

    others = {(language, "run") for language in ("sh", *OF_SERVICE_MANAGERS)}

    assert {(block.language, block.kind) for block in pages.blocks()} == {*python, *others}


@each(pages.blocks("python", "run"))
def test_code_runs(block: Block, db: None) -> None:
    block.run({"user": User.objects.create_user("ada", "ada@example.com")})

    run_jobs(with_scheduled=True)


@each(pages.blocks("python", "tests"))
def test_test_case_passes(block: Block, db: None) -> None:
    module: dict[str, Any] = {"__name__": "shop.tests"}
    block.run(module)
    (case,) = [value for value in module.values() if getattr(value, "__module__", None) == "shop.tests"]
    result = unittest.TestResult()

    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)

    assert result.testsRun
    assert not [*result.errors, *result.failures]


@each(pages.blocks("python", "settings"))
def test_settings_pass_the_checks(block: Block) -> None:
    site: dict[str, Any] = {"INSTALLED_APPS": [], "DATABASES": {"default": {"NAME": "db.sqlite3"}}}

    block.run(site)

    assert not list(conf.problems(site.get("JOBS", {})))
    if "OPTIONS" in site["DATABASES"]["default"]:
        assert not list(checks._of_sqlite("default", site["DATABASES"]["default"]))


@pytest.mark.parametrize("words", pages.commands(pages.blocks()))
def test_command_parses(words: list[str]) -> None:
    name, *arguments = words

    pages.parser(name).parse_args(arguments)


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_options_exist(page: Path) -> None:
    parsers = [pages.parser("runworkers"), pages.parser("check"), *pages.subparsers(pages.parser("jobs"))]

    assert pages.options(page) <= {"--init"}.union(*(parser._option_string_actions for parser in parsers))


def test_service_managers_wait_for_the_longest_end() -> None:
    waits = pages.patience(pages.ROOT / "docs" / "deploying.md")

    assert len(waits) == 3
    assert min(waits) > conf.settings.grace_seconds + longest_end()


@pytest.mark.parametrize("line", [line for line in SHELL if line.startswith("make ")])
def test_make_has_the_target(line: str) -> None:
    assert re.search(rf"^{line.split()[1]}:", (pages.ROOT / "Makefile").read_text(), re.M)


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert pages.broken_links(page) == []
