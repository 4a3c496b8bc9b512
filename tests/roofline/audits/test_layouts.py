"""Layouts name fields that rows have, and say what a table needs."""

import re
from dataclasses import fields
from pathlib import Path

from roofline.audits.layouts import _BYTE, _FLOP, _MAC, _SECONDS, PLAIN, TIMM, layouts_of, needed, plain
from roofline.audits.row import StatedRow

PAGE = Path(__file__).parents[3] / "docs" / "audit-of-the-reports.md"


def test_every_column_fills_a_field_of_the_row() -> None:
    known = {field.name for field in fields(StatedRow)}
    for layout in (PLAIN, *TIMM):
        assert {quantity.field for quantity in layout.numbers.values()} <= known
        assert set(layout.words.values()) <= known


def test_columns_are_spelled_as_they_are_compared() -> None:
    """A name that `plain` changes could never be found."""
    for layout in (PLAIN, *TIMM):
        for name in (*layout.numbers, *layout.words):
            assert plain(name) == name


def test_the_message_names_columns_that_are_really_read() -> None:
    for name in ("images_per_s", "step_time_ms", "mean_us", "attained_gflop_per_s", "gmacs", "peak_gb_per_s"):
        assert name in needed()
        assert layouts_of(frozenset({"model", name})) == (PLAIN,)


def test_the_page_names_columns_and_units_that_are_read() -> None:
    """Of every quantity that a table may state, a name at least."""
    section = PAGE.read_text(encoding="utf-8").partition("## Columns of a table")[2].partition("\n## ")[0]
    intro, _, rows = section.partition("| column | meaning |")
    named = [name for row in rows.splitlines()[2:] for name in re.findall("`([^`]+)`", row.split("|")[1])]
    filled = {name: PLAIN.words.get(name) or PLAIN.numbers[name].field for name in named}
    assert set(filled.values()) == {*PLAIN.words.values(), *(one.field for one in PLAIN.numbers.values())}
    units = set(re.findall("`([a-z]+)`", intro))
    assert units == {*_SECONDS, *_FLOP, *_MAC, *_BYTE}
