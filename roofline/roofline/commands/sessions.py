"""``roofline sessions``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import CannotCompare, devices_option, read_points, results_argument
from roofline.commands.output import emit, table_options
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

    Exit code: 0 some case has a session to show, 3 none has.
    """
    table = sessions_table(read_points(results, devices))
    emit([table], form, output, width)
    if not table.rows:
        raise CannotCompare(f"no session of {', '.join(map(str, results))} has a case that can be used.")
