"""``roofline sessions``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.console import NoData
from roofline.cli.inputs import devices_option, read_sessions, results_argument
from roofline.cli.output import emit
from roofline.cli.parameters import Output, table_options, verbose_option
from roofline.comparison.sessions_table import scatters_of, sessions_table
from roofline.machine.published import DeviceTable
from roofline.model.points import place_all


@click.command()
@results_argument
@table_options
@verbose_option
@devices_option
def sessions(results: tuple[Path, ...], output: Output, verbose: bool, devices: DeviceTable) -> None:
    """Show how far the sessions of RESULTS (files or folders) scatter, case by case.

    Give several runs of the same code, such as those of pytest --roofline-sessions. Of a session that stands in several
    files one is taken: a copy doesn't scatter.

    Exit code: 0 some case has a session to show, 3 none has.
    """
    scatters, left_out = scatters_of(place_all(read_sessions(results).files, devices))
    emit([sessions_table(scatters, left_out, verbose=verbose or output.is_data)], output)
    if not scatters:
        raise NoData(f"no session of {', '.join(map(str, results))} has a case that can be used.")
