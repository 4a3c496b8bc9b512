"""Exports in whose rows stands what nsys never wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.roofline.profilers import nsys_build as build

_CELLS = st.one_of(
    st.none(),
    st.sampled_from([0, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 1.7e308, float("inf"), 59]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
)
"""59 is the kind of an NVTX range."""


def spoiled(data: st.DataObject, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, up to two cells of each drawn anew."""
    return {table: [_spoiled(data, row) for row in content] for table, content in rows.items()}


def _spoiled(data: st.DataObject, row: Mapping[str, Any]) -> dict[str, Any]:
    names = data.draw(st.lists(st.sampled_from(sorted(row)), max_size=2, unique=True))
    return {**row, **{name: data.draw(_CELLS) for name in names}}


def loose(tables: Iterable[str]) -> dict[str, str]:
    """Columns that take whatever is put into them, unconverted."""
    return {
        table: build.TABLES[table].replace(" NOT NULL", "").replace(" INTEGER", "").replace(" TEXT", "")
        for table in tables
    }
