"""``roofline summary``: what is printed after a run. Loads nothing heavy: it runs in a process of its own each time."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from roofline.cli.inputs import device_table, devices_option, read_results, results_argument
from roofline.cli.output import emit
from roofline.cli.parameters import Output, table_options, verbose_option
from roofline.model.points import cases, points_of
from roofline.show.point_tables import points_table, roofs_table, summary_table
from roofline.show.tables import Table


@click.command()
@results_argument
@table_options
@verbose_option
@devices_option
def summary(
    results: tuple[Path, ...],
    output: Output,
    verbose: bool,
    devices: Path | None,
) -> None:
    """Show each run of RESULTS (files or folders): a row a case, what is said against a number, and the roofs in use.

    CSV and JSON are those of `roofline points`: a single table with the roofs in each row.
    """
    published = device_table(devices)
    runs = [(result, points_of(result, published)) for result in read_results(results)]
    if output.is_data:
        emit([points_table(cases(point for _, points in runs for point in points))], output)
        return
    tables: list[Table[Any]] = []
    for result, points in runs:
        shown = cases(points)
        tables += [summary_table(result, shown, verbose=verbose), roofs_table(shown or points)]
    # Named in full: pytest shows these tables too, and has no such option.
    complete = f"roofline summary {shlex.join(map(str, results))} --format markdown"
    emit(tables, output, complete=complete)
