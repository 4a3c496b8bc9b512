"""``roofline compare``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.compare_and_gate.judging_options import judging_options
from roofline.cli.console import NoData
from roofline.cli.inputs import INPUT, devices_option
from roofline.cli.output import emit
from roofline.cli.parameters import Output, TwoSidesCommand, table_options, verbose_option
from roofline.comparison.comparison import compare_paths
from roofline.comparison.comparison_lines import nothing_judged
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.verdict_table import sentence, table
from roofline.machine.published import DeviceTable


@click.command(cls=TwoSidesCommand, several=("--with", "--learn-from"))
@click.argument("base", nargs=-1, required=True, type=INPUT)
@click.option("--with", "new", multiple=True, required=True, type=INPUT, metavar="NEW...", help="Files or folders.")
@judging_options
@table_options
@verbose_option
@devices_option
def compare(
    base: tuple[Path, ...],
    new: tuple[Path, ...],
    settings: Settings,
    output: Output,
    verbose: bool,
    devices: DeviceTable,
) -> None:
    """Compare the sessions of BASE with those of NEW, case by case: files or folders, several sessions a side.

    A case is slower or faster, of an amount more or less, where that is shown not to be chance and to matter, the same
    where the difference is shown not to matter, else inconclusive. Nothing is gated: `roofline check` does.

    Exit code: 0 cases were compared, 3 nothing could be.
    """
    comparison = compare_paths(base, new, settings, devices)
    emit([table(comparison, sentence(comparison), verbose=verbose)], output)
    if not comparison.judged:
        raise NoData(nothing_judged(comparison))
