"""The figures for people, and for programs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from .figures import Figure

FOLDER = Path(__file__).resolve().parent.parent / "var" / "bench"


def facts(machine: Mapping[str, str]) -> str:
    """Return a line for each fact, with the names in a column."""
    width = max(map(len, machine))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in machine.items())


def table(figures: Sequence[Figure]) -> str:
    """Return one line a figure: median and worst of its samples."""
    width = max(len(figure.name) for figure in figures)
    lines = [f"{'':<8} {'':<{width}} {'median':>10} {'worst':>10}"]
    for figure in figures:
        numbers = f"{_number(figure.median):>10} {_number(figure.worst):>10}"
        lines.append(f"{figure.benchmark:<8} {figure.name:<{width}} {numbers} {figure.unit}")
    return "\n".join(lines)


def save(machine: Mapping[str, str], figures: Sequence[Figure], *, began_at: str, folder: Path = FOLDER) -> Path:
    """Write everything, each sample included, to a file of its own and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{began_at}.json"
    rows = [asdict(figure) | {"median": figure.median, "worst": figure.worst} for figure in figures]
    path.write_text(json.dumps({"began_at": began_at, "machine": machine, "figures": rows}, indent=1))
    return path


def moment() -> str:
    """Return the present moment in UTC as a file name."""
    return time.strftime("%Y-%m-%dT%H%M%SZ", time.gmtime())


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"
