"""The rates in docs/gate.md and docs/ab.md are those that ``python -m benchmarks gate turns live`` stored last.

A table of rates looks like this; what is measured stands in the first cell of its first row:

    | quiet, 5 a side | false alarms | 5 % caught | 3 % caught | 5 % called same |
    |---|---:|---:|---:|---:|
    | this gate | 0.24 % | 1.1 % | 0.54 % | 0 % |
    | Mann-Whitney | 86 % | 60 % | 59 % | |

A column is a rate of unchanged code, or of code that was so many percent slower. A cell is a percentage, rounded as the
author likes, or ``9 of 10``; empty where no such rate was stored. ``0 %`` is none at all, not a few that were rounded.
Backquotes and stars are for the eye.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gate_learned
from benchmarks.figures import RESULTS
from benchmarks.gate_counts import OURS, figure_name
from benchmarks.gate_others import OTHERS
from benchmarks.gate_stored import LOWER_CONFIDENCES

DOCS = Path(__file__).parents[2] / "docs"

EVERY = (OURS, *OTHERS)
LESS_SURE = tuple(f"{OURS}, {confidence:.0%} sure" for confidence in LOWER_CONFIDENCES)
LEARNED = tuple(f"{OURS}, {confidence:.0%} sure" for confidence in gate_learned.DOCUMENTED)
LEARNED_FIGURES = {"false alarms", "10 % caught", "5 % caught"}
DRAWN = {"false alarms", "5 % caught", "3 % caught", "5 % called same"}
LIVE = {"false alarms", "5 % caught", "5 % missed"}

TABLES = [
    ("gate.md", "gate", "quiet, 5 a side", (*EVERY, *LESS_SURE), DRAWN),
    ("gate.md", "gate", "loud, 5 a side", (*EVERY, *LESS_SURE), DRAWN),
    ("gate.md", "learned", "another day, 5 a side, learned", LEARNED, LEARNED_FIGURES),
    ("ab.md", "turns", "quiet, in turns", EVERY, DRAWN),
    ("ab.md", "live", "quiet, live", (OURS,), LIVE),
]
"""Tables that must be there: page, results, title, and at least which rows and columns."""

Figures = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[str, ...]]


def tables(text: str) -> Iterator[Table]:
    """Of a page, those that have a column of false alarms."""
    for match in re.finditer(r"(?:^\|.*\n){3,}", text, re.MULTILINE):
        (title, *columns), _, *rows = (_cells(line) for line in match[0].splitlines())
        if "false alarms" in columns:
            yield Table(title, tuple(columns), {rule: tuple(cells) for rule, *cells in rows})


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.sub(r"[`*]", "", line).strip().strip("|").split("|")]


def figures(benchmark: str) -> Figures:
    """What was stored. It fails where nothing was."""
    content = json.loads((RESULTS / f"{benchmark}.json").read_text(encoding="utf-8"))
    return {figure["name"]: figure for figure in content["figures"]}


def wrong(table: Table, stored: Figures) -> list[str]:
    """The cells that say something else than was measured."""
    found = []
    for rule, cells in table.rows.items():
        if len(cells) != len(table.columns):
            found.append(f"{table.title}: {rule}: {len(cells)} cells in {len(table.columns)} columns")
        for column, cell in zip(table.columns, cells, strict=False):
            slowed = re.fullmatch(r"(\d+) % (.+)", column)
            what, pace = (slowed[2], int(slowed[1]) / 100) if slowed else (column, 0.0)
            name = figure_name(what, table.title, pace, rule)
            if not agrees(cell, stored.get(name)):
                is_so = f"{stored[name]['count']} of {stored[name]['of']}" if name in stored else "nothing"
                found.append(f"{name}: {cell!r} is written, and {is_so} was measured")
    return found


def agrees(cell: str, figure: Mapping[str, Any] | None) -> bool:
    if not cell or figure is None:
        return not cell and figure is None
    count, of = figure["count"], figure["of"]
    if match := re.fullmatch(r"(\d+) of (\d+)", cell):
        return (count, of) == (int(match[1]), int(match[2]))
    if match := re.fullmatch(r"\d+(?:\.(\d+))? %", cell):
        written, places = float(cell.removesuffix(" %")), len(match[1] or "")
        if not written or not count:
            return not written and not count
        return abs(written - 100 * count / of) <= 0.5 * 10**-places + 1e-9
    return False


@pytest.mark.parametrize(("document", "results", "title", "rules", "columns"), TABLES)
def test_a_table_shows_what_was_measured(
    document: str, results: str, title: str, rules: tuple[str, ...], columns: set[str]
) -> None:
    """Each is there once, with all its rows and columns, and every cell is what was stored."""
    found = list(tables((DOCS / document).read_text(encoding="utf-8")))
    assert [table.title for table in found].count(title) == 1
    (table,) = (table for table in found if table.title == title)
    assert set(table.rows) == set(rules)
    assert set(table.columns) >= columns
    assert not wrong(table, figures(results))


@pytest.mark.parametrize("document", sorted({document for document, *_ in TABLES}))
def test_no_table_shows_what_was_not_measured(document: str) -> None:
    """Also those that needn't be there, such as of three sessions a side."""
    benchmarks = sorted({benchmark for at, benchmark, *_ in TABLES if at == document})
    stored = {name: figure for benchmark in benchmarks for name, figure in figures(benchmark).items()}
    assert not [
        line for table in tables((DOCS / document).read_text(encoding="utf-8")) for line in wrong(table, stored)
    ]


PAGE = """
| quiet, 5 a side | false alarms | 5 % caught | 5 % called *same* |
|---|---:|---:|---:|
| this gate | 0.24 % | 3 of 7 | 0 % |
| pytest-benchmark `mean:5%` | 65 % | 67.9 % | |

| something | else |
|---|---|
| is | 5 % |
"""


@pytest.mark.parametrize(
    ("written", "instead", "right"),
    [
        ("", "", True),
        ("0.24 %", "0.2 %", True),
        ("3 of 7", "42.86 %", True),
        ("0.24 %", "0.25 %", False),
        ("0.24 %", "0 %", False),
        ("0.24 %", "", False),
        ("3 of 7", "6 of 14", False),
        ("| 0 % |", "| 0.01 % |", False),
        ("67.9 % | |", "67.9 % | 0 % |", False),
        ("67.9 % | |", "67.9 % |", False),
        ("this gate", "that gate", False),
    ],
)
def test_a_wrong_cell_is_found(written: str, instead: str, right: bool) -> None:
    """A rate may be rounded. A cell without a rate, a rate without a cell and a small rate shown as 0 % are wrong."""
    counts = {
        "false alarms, quiet, 5 a side, unchanged: this gate": (12, 5000),
        "caught, quiet, 5 a side, 5% slower: this gate": (3, 7),
        "called same, quiet, 5 a side, 5% slower: this gate": (0, 5000),
        "false alarms, quiet, 5 a side, unchanged: pytest-benchmark mean:5%": (3254, 5000),
        "caught, quiet, 5 a side, 5% slower: pytest-benchmark mean:5%": (3396, 5000),
    }
    stored = {name: {"count": count, "of": of} for name, (count, of) in counts.items()}
    assert written in PAGE
    (table,) = tables(PAGE.replace(written, instead, 1))
    assert (not wrong(table, stored)) is right
