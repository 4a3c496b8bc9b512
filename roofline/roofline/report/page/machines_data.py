"""Machines beside each other, as plain dicts: the same workload on each, with the speed-up over the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roofline.model.points import Point
from roofline.report.page.cells import Data, table_data
from roofline.show.columns import pick
from roofline.show.machines import Row, machines_table
from roofline.show.tables import Column


def machines_data(points: Sequence[Point], numbers: Mapping[int, int]) -> Data:
    """Make the table of machines, with its notes.

    :param points: the newest cases of all machines.
    :param numbers: that of each point, by its id in memory.
    """
    table = machines_table(points)
    (case,) = pick("case")
    columns: list[Column[Row]] = [case.of(lambda row: row.point), *table.displayed()]
    opens = [numbers[id(row.point)] for row in table.rows]
    return {
        "title": table.title,
        "table": table_data(columns, table.rows, opens=opens),
        "notes": list(table.notes),
    }
