"""``roofline points``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import devices_option, read_points, results_argument
from roofline.commands.output import emit, table_options
from roofline.point_tables import points_table
from roofline.points import cases
from roofline.tables import Format

DEFAULT = Path("roofline_points.csv")


@click.command()
@results_argument
@table_options
@devices_option
def points(
    results: tuple[Path, ...], form: Format | None, output: Path | None, width: int | None, devices: Path | None
) -> None:
    """Place every case of RESULTS (files or folders) on its machine's roofline.

    Without --format and -o the table is shown and roofline_points.csv is written.
    """
    table = points_table(cases(read_points(results, devices)))
    emit([table], form, output, width)
    if form is None and output is None:
        emit([table], "csv", DEFAULT, width)
