"""``roofline plot``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.inputs import NoData, devices_option, read_points, results_argument
from roofline.cli.parameters import OutputFolder
from roofline.model.points import Point
from roofline.text.printable import printable, say


@click.command()
@results_argument
@click.option(
    "-o",
    "--output",
    "folder",
    type=OutputFolder(),
    default=Path("figures"),
    show_default=True,
    help="Folder for the PNG files.",
)
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
    from roofline.plots.files import draw, draw_levels

    try:
        paths, notes = (draw_levels if levels else draw)(points, folder)
    except OSError as error:
        raise click.UsageError(printable(f"{folder}: can't be written ({error.strerror or error}).")) from error
    for note in notes:
        say(note, err=True)
    if levels and not paths:
        raise NoData("nothing to draw: no case has hardware counters. Count with pytest --roofline-ncu.")
    return paths
