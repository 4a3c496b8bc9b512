"""``roofline trace``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import table_options
from roofline.commands.timelines import file_argument, show, top_option
from roofline.profilers.chrome_trace import read_trace
from roofline.tables import Format


@click.command()
@file_argument
@top_option
@table_options
def trace(file: Path, top: int, form: Format | None, output: Path | None, width: int | None) -> None:
    """Sum up a trace of torch.profiler: kernels, copies, how busy each GPU was, and the host's operators.

    FILE is what export_chrome_trace or tensorboard_trace_handler wrote, plain or with gzip. CSV has the kernels, or the
    operators of what ran without a GPU; JSON has everything, and says of each section whether it is whole.

    Exit code 3: FILE can't be read, is the trace of another program, or has nothing that can be summed up.
    """
    show(file, read_trace, top, form, output, width)
