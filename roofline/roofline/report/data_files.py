"""The tables of a report as CSV, and its frames as Parquet, for programs and spreadsheets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from roofline.comparison.comparison import Comparison
from roofline.frames import Results
from roofline.model.points import cases, newest
from roofline.report.page.batch_data import batch_table
from roofline.report.page.pairs_data import pairs_table
from roofline.report.page.remarks import REMARK_COLUMNS, remarks
from roofline.show.export import as_parquet, csv_of, csv_of_frame
from roofline.show.kernel_tables import kernels_table
from roofline.show.machines import machine_names, machine_of, machines_table, roofs_alone
from roofline.show.operation_tables import operations_table, taken_apart
from roofline.show.point_tables import metrics_table, points_table
from roofline.show.tables import Table


class CsvFile(NamedTuple):
    """A table: the name of its file, its rows, and what makes its text."""

    name: str
    rows: int
    text: Callable[[], str]


def csv_files(results: Results, comparison: Comparison | None = None) -> Iterator[CsvFile]:
    """Each table: of what needs attention, batch sizes, pairs, operations, kernels and roofs where there are some; of
    several machines.

    :param comparison: of the results with a baseline.
    """
    shown = cases(results.points)
    points, metrics = points_table(shown), metrics_table(results.points)
    yield CsvFile("roofline_points.csv", len(points.rows), partial(csv_of, points))
    yield CsvFile("metrics.csv", len(metrics.rows), partial(csv_of, metrics))
    shown_on_page, _ = newest(shown)
    bare = roofs_alone(results.points)
    found = remarks(shown_on_page, machine_names([*shown_on_page, *bare]), comparison, bare)
    if found:
        attention = Table(title="Needs attention", columns=REMARK_COLUMNS, rows=found)
        yield CsvFile("attention.csv", len(found), partial(csv_of, attention))
    for name, table in (
        ("batch_scaling", batch_table(shown_on_page)),
        ("pairs", pairs_table(shown_on_page)),
        ("operations", operations_table(taken_apart(shown)[0])),
        ("kernels", kernels_table(shown)),
    ):
        if table.rows:
            yield CsvFile(f"{name}.csv", len(table.rows), partial(csv_of, table))
    if len(results.roofs):
        yield CsvFile("roofs.csv", len(results.roofs), partial(csv_of_frame, results.roofs))
    if len({machine_of(point) for point in shown}) > 1:
        machines = machines_table(results.points)
        yield CsvFile("machines.csv", len(machines.rows), partial(csv_of, machines))


def parquet_files(results: Results) -> Iterator[tuple[str, bytes]]:
    """Name and content of each of `roofline.frames.Results` that has rows.

    :raises LacksPyarrow: pyarrow isn't installed.
    """
    for name, frame in results.each():
        if len(frame):
            yield f"frames/{name}.parquet", as_parquet(frame)
        del frame  # before the next is made
