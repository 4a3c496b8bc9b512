"""``roofline summary``: what is printed after a run. Loads nothing heavy: it runs in a process of its own each time."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import device_table, devices_option, read_one, result_argument
from roofline.commands.output import chosen_format, emit, table_options
from roofline.point_tables import points_table, roofs_table, summary_table
from roofline.points import cases, points_of
from roofline.tables import Format


@click.command()
@result_argument
@table_options
@devices_option
def summary(result: Path, form: Format | None, output: Path | None, width: int | None, devices: Path | None) -> None:
    """Show one run: a row a case, what is said against a number, and the roofs in use.

    CSV and JSON are those of `roofline points`: a single table with the roofs in each row.
    """
    content = read_one(result)
    points = points_of(content, device_table(devices))
    shown = cases(points)
    if chosen_format(form, output) in ("csv", "json"):
        emit([points_table(shown)], form, output, width)
    else:
        # Named in full: pytest shows these tables too, and has no such option.
        complete = f"roofline points {result} --format csv"
        emit([summary_table(content, shown), roofs_table(shown or points)], form, output, width, complete=complete)
