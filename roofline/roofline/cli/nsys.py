"""``roofline nsys``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.parameters import Output, table_options
from roofline.cli.timelines import files_argument, show, top_option
from roofline.profilers.nsys.nsys_file import read_nsys


@click.command()
@files_argument
@top_option
@table_options
def nsys(files: tuple[Path, ...], top: int, output: Output) -> None:
    """Sum up what Nsight Systems recorded: kernels, copies, how busy each GPU was, its DRAM traffic, NVTX ranges.

    FILES are SQLite exports (nsys export --type sqlite), of a folder its *.sqlite; or what nsys stats printed, of which
    kernels and copies are read. CSV has the kernels; JSON has the records of all tables, each named by its `table` and
    `file`, and in `sections` whether each part of a file is whole.

    Exit code 3: a file can't be read, or no kernel was recorded in it; the others are shown.
    """
    show(files, read_nsys, (".sqlite",), top, output)
