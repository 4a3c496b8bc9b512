"""``roofline nsys``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import table_options
from roofline.commands.timelines import file_argument, show, top_option
from roofline.profilers.nsys_file import read_nsys
from roofline.tables import Format


@click.command()
@file_argument
@top_option
@table_options
def nsys(file: Path, top: int, form: Format | None, output: Path | None, width: int | None) -> None:
    """Sum up what Nsight Systems recorded: kernels, copies, how busy each GPU was, and its DRAM traffic.

    FILE is an SQLite export (nsys export --type sqlite), or what nsys stats printed, which has kernels and copies
    alone. CSV has the kernels; JSON has everything, and says of each section whether it is whole.

    Exit code 3: FILE can't be read, or has no kernel in it.
    """
    show(file, read_nsys, top, form, output, width)
