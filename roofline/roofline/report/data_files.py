"""The tables of a report as CSV, and its frames as Parquet, for programs and spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.frames import FRAMES, Results
from roofline.model.points import cases
from roofline.show.export import as_parquet, csv_of, csv_of_frame
from roofline.show.machines import machine_of, machines_table
from roofline.show.point_tables import metrics_table, points_table


def csv_files(results: Results) -> Iterator[tuple[str, str]]:
    """Name and content of each table: of operations and kernels where there are some, and of the machines side by side
    where there are several.
    """
    shown = cases(results.points)
    yield "roofline_points.csv", csv_of(points_table(shown))
    yield "metrics.csv", csv_of(metrics_table(results.points))
    for name, frame in (("operations", results.operations), ("kernels", results.kernels)):
        if len(frame):
            yield f"{name}.csv", csv_of_frame(frame)
    if len({machine_of(point) for point in shown}) > 1:
        yield "machines.csv", csv_of(machines_table(results.points))


def parquet_files(results: Results) -> Iterator[tuple[str, bytes]]:
    """Name and content of each of `roofline.frames.Results` that has rows.

    :raises LacksPyarrow: pyarrow isn't installed.
    """
    for name in FRAMES:
        frame = getattr(results, name)
        if len(frame):
            yield f"frames/{name}.parquet", as_parquet(frame)
