"""The commands that show results: `summary`, `points`, `metrics`, `pairs`, `machines`, `scaling` and `env`."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.console import NoData
from roofline.cli.inputs import devices_option, read_points, read_results, results_argument
from roofline.cli.output import emit, emit_text
from roofline.cli.parameters import Output, OutputFile, table_options, verbose_option
from roofline.machine.published import DeviceTable
from roofline.model.point_groups import cases, newest
from roofline.model.points import points_of
from roofline.show.cases.machines_table import machines_table
from roofline.show.cases.pairs_table import pairs_table
from roofline.show.cases.point_tables import metrics_table, points_table
from roofline.show.cases.scaling_table import scaling_table
from roofline.show.cases.summary_tables import run_tables
from roofline.show.environment import environment


@click.command()
@results_argument
@table_options
@verbose_option
@devices_option
def summary(results: tuple[Path, ...], output: Output, verbose: bool, devices: DeviceTable) -> None:
    """Show each run of RESULTS (files or folders): a row a case, what is said against a number, and the roofs in use.

    CSV and JSON are those of `roofline points`: a single table with the roofs in each row.
    """
    runs = [(result, points_of(result, devices)) for result in read_results(results).files]
    if output.is_data:
        emit([points_table(cases(point for _, points in runs for point in points))], output)
        return
    emit([table for run in runs for table in run_tables(*run, verbose=verbose)], output)


@click.command()
@results_argument
@table_options
@devices_option
def points(results: tuple[Path, ...], output: Output, devices: DeviceTable) -> None:
    """Place every case of RESULTS (files or folders) on its machine's roofline.

    The table shows what fits; CSV and JSON have every column.
    """
    emit([points_table(cases(read_points(results, devices)))], output)


@click.command()
@results_argument
@table_options
@devices_option
def metrics(results: tuple[Path, ...], output: Output, devices: DeviceTable) -> None:
    """A row for each benchmark of RESULTS (files or folders), roofs included: how it was timed and what came out.

    The table shows what fits; CSV and JSON have every column.
    """
    emit([metrics_table(read_points(results, devices))], output)


@click.command()
@results_argument
@table_options
@devices_option
def pairs(results: tuple[Path, ...], output: Output, devices: DeviceTable) -> None:
    """Hold cases against each other that differ in one thing: training against inference, compiled against eager,
    channels last against contiguous, real against ready data, another precision against fp32.

    Of several runs of one machine the newest counts.
    """
    table = pairs_table(newest(cases(read_points(results, devices)))[0])
    if not table.rows:
        raise NoData("no two cases that differ in one thing. Measure some: pytest perftests --precision fp32,amp_bf16")
    emit([table], output)


@click.command()
@results_argument
@table_options
@verbose_option
@devices_option
def machines(results: tuple[Path, ...], output: Output, verbose: bool, devices: DeviceTable) -> None:
    """Put the machines of RESULTS (files or folders) side by side: the same workload on each.

    The speed-up is over the machine of the first file. Runs are never pooled: of several runs of one machine the
    newest counts. Nothing is judged: to gate a change, compare runs of one machine.
    """
    emit([machines_table(read_points(results, devices), verbose=verbose or output.is_data)], output)


@click.command()
@results_argument
@table_options
@devices_option
def scaling(results: tuple[Path, ...], output: Output, devices: DeviceTable) -> None:
    """Show what more ranks give: throughput and efficiency of each case of RESULTS that several processes shared.

    One rank's result counts that has the same model, batch of a rank, settings and threads on the same machine.
    """
    table = scaling_table(read_points(results, devices))
    if not table.rows:
        raise NoData("no case that several ranks measured. Measure some: torchrun -m pytest perftests/test_scaling.py")
    emit([table], output)


@click.command()
@results_argument
@click.option("-o", "--output", type=OutputFile(".md", ".txt"), help="File to write to.")
def env(results: tuple[Path, ...], output: Path | None) -> None:
    """Show the environment of each run of RESULTS (files or folders) as Markdown: machine, versions, limits, commit."""
    emit_text("\n".join(map(environment, read_results(results).files)), output)
