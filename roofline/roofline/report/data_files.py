"""The tables of a report as CSV, and its frames as Parquet, for programs and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.frames import FRAMES, Results
from roofline.model.points import Point, cases
from roofline.show.export import as_parquet, csv_of
from roofline.show.kernel_tables import kernels_table
from roofline.show.machines import machine_of, machines_table
from roofline.show.operation_tables import operations_table, taken_apart
from roofline.show.point_tables import metrics_table, points_table


def csv_files(points: Sequence[Point]) -> Iterator[tuple[str, str]]:
    """Name and content of each table: of operations and kernels where there are some, and of the machines side by side
    where there are several.
    """
    shown = cases(points)
    yield "roofline_points.csv", csv_of(points_table(shown))
    yield "metrics.csv", csv_of(metrics_table(points))
    if (operations := operations_table(taken_apart(shown)[0])).rows:
        yield "operations.csv", csv_of(operations)
    if (kernels := kernels_table(shown)).rows:
        yield "kernels.csv", csv_of(kernels)
    if len({machine_of(point) for point in shown}) > 1:
        yield "machines.csv", csv_of(machines_table(points))


def parquet_files(points: Sequence[Point]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each of `roofline.frames.Results` that has rows.

    :raises LacksPyarrow: pyarrow isn't installed.
    """
    results = Results(points)
    for name in FRAMES:
        frame = getattr(results, name)
        if len(frame):
            yield f"frames/{name}.parquet", as_parquet(frame)
