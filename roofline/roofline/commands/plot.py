"""``roofline plot``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import devices_option, read_points, results_argument
from roofline.points import Point


@click.command()
@results_argument
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Folder for the PNG files.",
)
@devices_option
def plot(results: tuple[Path, ...], folder: Path, devices: Path | None) -> None:
    """Draw for each machine of RESULTS (files or folders) its roofline and its throughput against batch size."""
    for path in draw_figures(read_points(results, devices), folder):
        click.echo(path)


def draw_figures(points: tuple[Point, ...], folder: Path) -> list[Path]:
    """Draw, with the notes on stderr.

    :raises click.UsageError: a file can't be written.
    """
    # matplotlib takes half a second to load.
    from roofline.figures import draw

    try:
        paths, notes = draw(points, folder)
    except OSError as error:
        raise click.UsageError(f"{folder}: can't be written ({error.strerror or error}).") from error
    for note in notes:
        click.echo(note, err=True)
    return paths
