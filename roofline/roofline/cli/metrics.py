"""``roofline metrics``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.inputs import devices_option, read_points, results_argument
from roofline.cli.output import emit
from roofline.cli.parameters import Output, table_options
from roofline.show.point_tables import metrics_table


@click.command()
@results_argument
@table_options
@devices_option
def metrics(results: tuple[Path, ...], output: Output, devices: Path | None) -> None:
    """A row for each benchmark of RESULTS (files or folders), roofs included: how it was timed and what came out.

    The table shows what fits; CSV and JSON have every column.
    """
    emit([metrics_table(read_points(results, devices))], output)
