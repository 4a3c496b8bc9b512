"""The step of a case taken apart, as plain dicts: by operation, by kernel, and its memory by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from roofline.model.points import Point
from roofline.report.page.cells import Data, table_data
from roofline.schema.record import Record
from roofline.show.step.kernel_tables import kernel_table, reconciliation_table
from roofline.show.step.operation_tables import Line, limits_table, outside_table, taken_apart, worst_table
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import scaled

_MOST = 15
"""Operations or kernels of a table: the others stand in one row."""
_TIME, _LIGHT, _BYTE = "time_s", "speed_of_light_s", "byte"
_OPERATION: Column[Line] = words(
    "operation", get=lambda line: line.name if line.one is None else line.one.operation.name
)
_SHAPE = ("dtype", "shape")
"""An operation is copied as `operations.csv` has it: what one text shows of it stands in three columns there."""


_SAVED = "kept for the backward pass"
_PARTS = {
    "parameters": "parameter_byte",
    "gradients": "gradient_byte",
    "optimizer state": "optimizer_state_byte",
    "results of the forward pass": "activation_byte",
    _SAVED: "saved_for_backward_byte",
}
_MEMORY: tuple[Column[tuple[str, int]], ...] = (
    words("part", get=lambda row: row[0]),
    number(_BYTE, "size", lambda row: row[1], lambda value: scaled(value, "B")),
)
_KEPT = "Kept for the backward pass are results of the forward pass, and what it needs of the batch"


def step_data(point: Point) -> list[Data]:
    """Tables of the step, each with its heading and notes; none of what wasn't recorded. One without a ``table`` says
    why there is none.

    ``bars`` names the columns of values that a chart shows as bars, and as marks over them, where there is one; it has
    the first ``rows``.
    """
    record = point.benchmark.record
    if record is None:
        return []
    return [*_operations(point), *_kernels(point), *_memory(record)]


def _operations(point: Point) -> Iterator[Data]:
    """By what bounds it and by operation, as far as times were recorded; without any, why there are none."""
    taken, left_out = taken_apart([point])
    if taken:
        yield _titled(limits_table(taken[0]))
        worst = worst_table(taken[0], _MOST, by_kind=False)
        # The last row is the whole step.
        shape = [column for column in worst.columns if column.name in _SHAPE]
        yield _titled(worst, bars=(_TIME, _LIGHT), rows=len(worst.rows) - 1, sort_by={"name": _OPERATION}, ends=shape)
    elif (outside := outside_table(point, left_out[0][1], _MOST)) is not None:
        yield _titled(outside, bars=(_TIME,))
    elif point.mode in ("train", "infer"):
        yield {"title": "Where the time goes", "notes": [f"Unknown: {left_out[0][1]}"]}


def _kernels(point: Point) -> Iterator[Data]:
    tables = (
        kernel_table(point, "profiler", _MOST),
        kernel_table(point, "counters", _MOST),
        reconciliation_table(point),
    )
    return (_titled(table) for table in tables if table is not None)


def _memory(record: Record) -> Iterator[Data]:
    work = record.work
    parts = [] if work is None else [(part, getattr(work, name)) for part, name in _PARTS.items()]
    known = [(part, value) for part, value in parts if value is not None]
    notes = [_KEPT] if any(part == _SAVED for part, _ in known) else []
    if known:
        table = Table(title="Memory of a step by part", columns=_MEMORY, rows=known, notes=notes)
        yield _titled(table, bars=(_BYTE,))


def _titled(table: Table[Any], bars: Sequence[str] = (), rows: int | None = None, **copied: Any) -> Data:
    """:param rows: how many of them the bars are of; None: all.
    :param copied: what is copied beside or in place of what is shown, as `table_data` takes it.
    """
    shown = table_data(table.displayed(), table.rows, **copied)
    made = {"title": table.title, "table": shown, "notes": list(table.notes)}
    return {**made, "bars": {"names": list(bars), "rows": len(table.rows) if rows is None else rows}} if bars else made
