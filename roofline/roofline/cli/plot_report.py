"""The commands that write files: `plot` and `report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from roofline.cli.inputs import NoData, device_table, devices_option, read_points, read_results, results_argument
from roofline.cli.output import emit, terminal_width, write_text
from roofline.cli.parameters import Command, Output, OutputFolder, width_option
from roofline.model.points import Point, cases, points_of
from roofline.results.reader import ResultFile
from roofline.show.environment import environment
from roofline.show.kernel_tables import kernels_table
from roofline.show.machines import machine_of, machines_table
from roofline.show.operation_tables import operations_table, taken_apart
from roofline.show.point_tables import metrics_table, points_table, roofs_table, summary_table
from roofline.show.render import render
from roofline.show.tables import Table
from roofline.text.printable import printable, say


def _folder_option(default: str, what: str) -> Callable[[Command], Command]:
    return click.option(
        "-o", "--output", "folder", type=OutputFolder(), default=Path(default), show_default=True, help=what
    )


@click.command()
@results_argument
@_folder_option("figures", "Folder for the PNG files.")
@click.option(
    "--levels",
    is_flag=True,
    help="Instead, each case that has hardware counters at its intensity of L1, L2 and DRAM, with its kernels.",
)
@devices_option
def plot(results: tuple[Path, ...], folder: Path, levels: bool, devices: Path | None) -> None:
    """Draw for each machine of RESULTS (files or folders) its roofline, its throughput against batch size, and how far
    rounds and sessions of a case differ.
    """
    for path in draw_figures(read_points(results, devices), folder, levels=levels):
        say(str(path))


def draw_figures(points: tuple[Point, ...], folder: Path, *, levels: bool = False) -> list[Path]:
    """Draw, with the notes on stderr.

    :param levels: the hierarchical rooflines instead.
    :raises click.UsageError: a file can't be written.
    :raises NoData: ``levels``, and no case has hardware counters.
    """
    # matplotlib takes half a second to load.
    from roofline.plots.image_files import draw, draw_levels

    try:
        paths, notes = (draw_levels if levels else draw)(points, folder)
    except OSError as error:
        raise click.UsageError(printable(f"{folder}: can't be written ({error.strerror or error}).")) from error
    for note in notes:
        say(note, err=True)
    if levels and not paths:
        raise NoData("nothing to draw: no case has hardware counters. Count with pytest --roofline-ncu.")
    return paths


@click.command()
@results_argument
@_folder_option("report", "Folder for everything.")
@width_option
@devices_option
def report(results: tuple[Path, ...], folder: Path, width: int | None, devices: Path | None) -> None:
    """Show the table of RESULTS (files or folders) and write figures, CSVs and the environment to one folder.

    Written: roofline-MACHINE.png, throughput-MACHINE.png and variability-MACHINE.png for each machine,
    roofline_points.csv, metrics.csv, operations.csv and kernels.csv (where these were timed or counted), env.md,
    summary.md. The paths are printed at the end.
    """
    files = read_results(results)
    table = device_table(devices)
    points = tuple(point for result in files for point in points_of(result, table))
    shown = cases(points)
    columns = terminal_width(width)
    taken, _ = taken_apart(shown)
    kernels = kernels_table(shown)
    texts = {
        "roofline_points.csv": render(points_table(shown), "csv", columns),
        "metrics.csv": render(metrics_table(points), "csv", columns),
        **({"operations.csv": render(operations_table(taken), "csv", columns)} if taken else {}),
        **({"kernels.csv": render(kernels, "csv", columns)} if kernels.rows else {}),
        "env.md": "\n".join(environment(result) for result in files),
        "summary.md": "\n".join(render(one, "markdown", 0) for one in _tables(files, points, verbose=True)),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    paths = [*draw_figures(points, folder), *(folder / name for name in texts)]
    emit(_tables(files, points, verbose=False), Output(width=width), complete=str(folder / "summary.md"))
    say("")
    for path in paths:
        say(str(path))


def _tables(files: Sequence[ResultFile], points: Sequence[Point], *, verbose: bool) -> list[Table[Any]]:
    """Cases and roofs of each run; and the machines side by side, where there are several."""
    shown = cases(points)
    tables: list[Table[Any]] = []
    for result in files:
        own = tuple(point for point in shown if point.result is result)
        if own:
            tables += [summary_table(result, own, verbose=verbose), roofs_table(own)]
    if len({machine_of(point) for point in shown}) > 1:
        tables.append(machines_table(points, verbose=verbose))
    return tables
