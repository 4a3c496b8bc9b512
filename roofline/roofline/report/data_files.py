"""The tables of a report that are written as CSV, and its frames as Parquet, for programs and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from roofline.comparison import verdict_table
from roofline.comparison.comparison import Comparison
from roofline.frames import Results
from roofline.model.point_groups import cases, newest
from roofline.model.points import Point
from roofline.report.costs import Cost
from roofline.report.page.parts.attention_data import attention_table
from roofline.report.page.parts.batch_data import batch_table
from roofline.show.cases.machines_table import machines_table
from roofline.show.cases.pairs_table import pairs_table
from roofline.show.cases.point_tables import metrics_table, points_table
from roofline.show.cases.roof_tables import all_roofs_table
from roofline.show.export import as_parquet
from roofline.show.step.kernel_tables import kernels_table
from roofline.show.step.operation_tables import operations_table, taken_apart
from roofline.show.tables import Table


def csv_tables(
    points: Sequence[Point], costs: Table[Cost], comparison: Comparison | None = None
) -> Iterator[tuple[str, Table[Any]]]:
    """Each table by the name of its file, without an ending; but for points and metrics those that have rows.

    :param points: of all results.
    :param comparison: of the results with a baseline.
    """
    shown = cases(points)
    latest, _ = newest(shown)
    several = len({point.machine for point in shown}) > 1
    yield "roofline_points", points_table(shown)
    yield "metrics", metrics_table(points)
    for name, table in (
        ("attention", attention_table(points, comparison)),
        ("batch_scaling", batch_table(latest)),
        ("pairs", pairs_table(latest)),
        ("operations", operations_table(taken_apart(shown)[0])),
        ("kernels", kernels_table(shown)),
        ("roofs", all_roofs_table(points)),
        ("costs", costs),
    ):
        if table.rows:
            yield name, table
    if several:
        yield "machines", machines_table(points)
    if comparison is not None:
        yield "verdicts", verdict_table.table(comparison, "")


def parquet_files(results: Results) -> Iterator[tuple[str, bytes]]:
    """Name and content of each of `roofline.frames.Results` that has rows.

    :raises LacksPyarrow: pyarrow isn't installed.
    """
    for name, frame in results.each():
        if len(frame):
            yield f"frames/{name}.parquet", as_parquet(frame)
        del frame  # before the next is made
