"""``roofline trace``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.parameters import Output, table_options
from roofline.cli.timelines import files_argument, show, top_option
from roofline.profilers.kineto.chrome_trace import read_trace


@click.command()
@files_argument
@top_option
@table_options
def trace(files: tuple[Path, ...], top: int, output: Output) -> None:
    """Sum up traces of torch.profiler: kernels, copies, how busy each GPU was, and the host's operators.

    FILES are what export_chrome_trace or tensorboard_trace_handler wrote, plain or with gzip, one for each rank; of a
    folder its *.json and *.json.gz. CSV has the kernels, or the operators where no file has a kernel; JSON has
    the records of all tables, each named by its `table` and `file`, and in `sections` whether each part of a file is
    whole.

    Exit code 3: a file can't be read, is the trace of another program, has nothing that can be summed up, or has
    operators alone where CSV has the kernels of others; the others are shown.
    """
    show(files, read_trace, (".json", ".json.gz"), top, output)
