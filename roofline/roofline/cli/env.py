"""``roofline env``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.inputs import read_results, results_argument
from roofline.cli.output import emit_text
from roofline.cli.parameters import OutputFile
from roofline.show.environment import environment


@click.command()
@results_argument
@click.option(
    "-o",
    "--output",
    type=OutputFile(".md", ".txt"),
    help="File to write to.",
)
def env(results: tuple[Path, ...], output: Path | None) -> None:
    """Show the environment of each run of RESULTS (files or folders) as Markdown: machine, versions, limits, commit."""
    emit_text("\n".join(map(environment, read_results(results))), output)
