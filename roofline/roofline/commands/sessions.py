"""``roofline sessions``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import devices_option, emit, read_points, results_argument, table_options
from roofline.sessions import sessions_table
from roofline.tables import Format


@click.command()
@results_argument
@table_options
@devices_option
def sessions(
    results: tuple[Path, ...], form: Format | None, output: Path | None, width: int | None, devices: Path | None
) -> None:
    """Show how far the sessions of RESULTS (files or folders) scatter, case by case.

    Give several runs of the same code, such as those of pytest's --sessions.
    """
    emit([sessions_table(read_points(results, devices))], form, output, width)
