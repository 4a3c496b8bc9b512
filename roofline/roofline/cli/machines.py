"""``roofline machines``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.inputs import devices_option, read_points, results_argument
from roofline.cli.output import emit
from roofline.cli.parameters import Output, table_options, verbose_option
from roofline.show.machines import machines_table


@click.command()
@results_argument
@table_options
@verbose_option
@devices_option
def machines(
    results: tuple[Path, ...],
    output: Output,
    verbose: bool,
    devices: Path | None,
) -> None:
    """Put the machines of RESULTS (files or folders) side by side: the same workload on each.

    The speed-up is over the machine of the first file. Runs are never pooled: of several runs of one machine the
    newest counts. Nothing is judged: to gate a change, compare runs of one machine.
    """
    emit([machines_table(read_points(results, devices), verbose=verbose or output.is_data)], output)
