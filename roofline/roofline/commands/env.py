"""``roofline env``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import read_one, result_argument
from roofline.commands.output import emit_text
from roofline.environment import environment


@click.command()
@result_argument
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write to.")
def env(result: Path, output: Path | None) -> None:
    """Show the environment of one run as Markdown: machine, versions, limits, commit."""
    emit_text(environment(read_one(result)), output)
