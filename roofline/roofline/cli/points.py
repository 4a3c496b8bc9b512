"""``roofline points``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.inputs import devices_option, read_points, results_argument
from roofline.cli.output import emit
from roofline.cli.parameters import Output, table_options
from roofline.model.points import cases
from roofline.show.point_tables import points_table


@click.command()
@results_argument
@table_options
@devices_option
def points(results: tuple[Path, ...], output: Output, devices: Path | None) -> None:
    """Place every case of RESULTS (files or folders) on its machine's roofline.

    The table shows what fits; CSV and JSON have every column.
    """
    emit([points_table(cases(read_points(results, devices)))], output)
