"""The step of a case taken apart, as plain dicts: by operation, by kernel, and its memory by part."""

from __future__ import annotations

from typing import Any

from roofline.model.points import Point
from roofline.report.page.cells import Data, table_data
from roofline.schema.amounts import usable
from roofline.schema.record import Record
from roofline.show.kernel_tables import kernel_table, reconciliation_table
from roofline.show.operation_tables import limits_table, outside_table, taken_apart, worst_table
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import scaled

_MOST = 15
"""Operations or kernels of a table: the others stand in one row."""
_PARTS = {
    "parameters": "parameter_byte",
    "gradients": "gradient_byte",
    "optimizer state": "optimizer_state_byte",
    "activations": "activation_byte",
    "of these kept for the backward pass": "saved_for_backward_byte",
}
_MEMORY: tuple[Column[tuple[str, int]], ...] = (
    words("part", get=lambda row: row[0]),
    number("byte", "size", lambda row: row[1], lambda value: scaled(value, "B")),
)


def step_data(point: Point) -> list[Data]:
    """Tables of the step, each with its heading and notes; none of what wasn't recorded."""
    record = point.benchmark.record
    if record is None:
        return []
    memory = _memory(record)
    shown = [_titled(table) for table in _tables(point, record)]
    return [*shown, {"title": "Memory of a step by part", "table": memory, "notes": []}] if memory else shown


def _tables(point: Point, record: Record) -> list[Table[Any]]:
    taken, left_out = taken_apart([point])
    profile, step_s = record.profile, point.step_time_s
    tables: list[Table[Any] | None] = []
    if taken:
        tables = [limits_table(taken[0]), worst_table(taken[0], _MOST, by_kind=False)]
    elif profile is not None and profile.outside and step_s is not None and usable(step_s):
        tables = [outside_table(point, profile, step_s, left_out[0][1], _MOST)]
    tables += [kernel_table(point, source, _MOST) for source in ("profiler", "counters")]
    tables.append(reconciliation_table(point))
    return [table for table in tables if table is not None]


def _titled(table: Table[Any]) -> Data:
    return {"title": table.title, "table": table_data(table.displayed(), table.rows), "notes": list(table.notes)}


def _memory(record: Record) -> Data | None:
    work = record.work
    parts = [] if work is None else [(part, getattr(work, name)) for part, name in _PARTS.items()]
    known = [(part, value) for part, value in parts if value is not None]
    return table_data(_MEMORY, known) if known else None
