"""The commands that write files: `plot` and `report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from roofline.cli.inputs import NoData, device_table, devices_option, read_points, read_results, results_argument
from roofline.cli.output import emit, write_text
from roofline.cli.parameters import Command, Output, OutputFolder, width_option
from roofline.cli.result_tables import run_tables
from roofline.model.points import Point, cases, points_of
from roofline.results.reader import ResultFile
from roofline.show.environment import environment
from roofline.show.export import csv_of
from roofline.show.kernel_tables import kernels_table
from roofline.show.machines import machine_of, machines_table
from roofline.show.operation_tables import operations_table, taken_apart
from roofline.show.point_tables import metrics_table, points_table
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
    paths, notes = _draw(read_points(results, devices), folder, levels=levels)
    for note in notes:
        say(note, err=True)
    if levels and not paths:
        raise NoData("nothing to draw: no case has hardware counters. Count with pytest --roofline-ncu.")
    for path in paths:
        say(str(path))


def _draw(points: tuple[Point, ...], folder: Path, *, levels: bool) -> tuple[list[Path], list[str]]:
    """Draw, and return the paths, and notes on what could not be drawn.

    :raises click.UsageError: a file can't be written.
    """
    # matplotlib takes half a second to load.
    from roofline.plots.image_files import draw, draw_levels

    try:
        return (draw_levels if levels else draw)(points, folder)
    except OSError as error:
        raise click.UsageError(printable(f"{folder}: can't be written ({error.strerror or error}).")) from error


@click.command()
@results_argument
@_folder_option("report", "Folder for everything.")
@width_option
@devices_option
def report(results: tuple[Path, ...], folder: Path, width: int | None, devices: Path | None) -> None:
    """Show the table of RESULTS (files or folders) and write a page for a browser, figures, CSVs and the environment to
    one folder.

    Written: index.html, which a browser opens from disk and which needs page/ beside it; roofline-MACHINE.png,
    throughput-MACHINE.png and variability-MACHINE.png for each machine, roofline_points.csv, metrics.csv,
    operations.csv and kernels.csv (where these were timed or counted), env.md, summary.md. The paths are printed at the
    end.
    """
    files = read_results(results)
    table = device_table(devices)
    runs = [(result, points_of(result, table)) for result in files]
    paths, notes = write_report(runs, folder)
    for note in notes:
        say(note, err=True)
    emit(report_tables(runs, verbose=False), Output(width=width), complete=str(folder / "summary.md"))
    say("")
    for path in paths:
        say(str(path))


Run = tuple[ResultFile, tuple[Point, ...]]
"""A result file, and its benchmarks placed."""


def report_tables(runs: Sequence[Run], *, verbose: bool) -> list[Table[Any]]:
    """Cases and roofs of each run; and the machines side by side, where there are several."""
    tables = [table for result, points in runs if points for table in run_tables(result, points, verbose=verbose)]
    points = [point for _, of_run in runs for point in of_run]
    if len({machine_of(point) for point in cases(points)}) > 1:
        tables.append(machines_table(points, verbose=verbose))
    return tables


def write_report(runs: Sequence[Run], folder: Path) -> tuple[list[Path], list[str]]:
    """Write the report's files, and return their paths and notes on what could not be drawn.

    :raises click.UsageError: a file can't be written.
    """
    points = tuple(point for _, of_run in runs for point in of_run)
    shown = cases(points)
    operations, kernels = operations_table(taken_apart(shown)[0]), kernels_table(shown)
    texts = {
        "roofline_points.csv": csv_of(points_table(shown)),
        "metrics.csv": csv_of(metrics_table(points)),
        **({"operations.csv": csv_of(operations)} if operations.rows else {}),
        **({"kernels.csv": csv_of(kernels)} if kernels.rows else {}),
        "env.md": "\n".join(environment(result) for result, _ in runs),
        "summary.md": "\n".join(render(one, "markdown", 0) for one in report_tables(runs, verbose=True)),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    figures, notes = _draw(points, folder, levels=False)
    pages, why_none = _write_page(points, folder)
    return [*pages, *figures, *(folder / name for name in texts)], [*notes, *why_none]


def _write_page(points: Sequence[Point], folder: Path) -> tuple[list[Path], list[str]]:
    """Write the page, and return the path to open, or a note that says what it needs.

    :raises click.UsageError: a file can't be written.
    """
    from roofline.report.page import LacksPageLibraries, write_page

    try:
        return write_page(points, folder), []
    except LacksPageLibraries as error:
        return [], [str(error)]
    except OSError as error:
        raise click.UsageError(printable(f"{folder}: can't be written ({error.strerror or error}).")) from error
