"""``roofline ncu``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click

from roofline.cli.inputs import INPUT
from roofline.cli.output import emit, emit_text
from roofline.cli.parameters import Output, table_options
from roofline.profilers.ncu.kernel_sums import KernelSum, by_kernel, by_kind, count, read_all, slowest_first
from roofline.profilers.ncu.ncu_tables import request, table
from roofline.profilers.ncu.values import Mark

By = Literal["kernel", "kind", "launch"]

_MARKS: dict[str, Mark] = {"point": ".", "comma": ","}
_CAPABILITY = re.compile(r"\d{1,2}\.\d")


def _capability(context: click.Context, parameter: click.Parameter, asked: str | None) -> str | None:
    if asked is not None and _CAPABILITY.fullmatch(asked) is None:
        remedy = "`nvidia-smi --query-gpu=compute_cap --format=csv` tells it."
        raise click.BadParameter(f"{asked!r} is no compute capability, such as 9.0. {remedy}", context, parameter)
    return asked


@click.command()
@click.argument("files", nargs=-1, type=INPUT)
@click.option(
    "--by",
    type=click.Choice(("kernel", "kind", "launch")),
    help="A row for each kernel, kind of kernel, or launch. Default: kernel; launch in CSV and JSON.",
)
@click.option(
    "--decimal",
    type=click.Choice(tuple(_MARKS)),
    help="How the files write decimals (1,234.5 or 1.234,5), where they don't tell by themselves.",
)
@click.option(
    "--range",
    "nvtx_range",
    metavar="NAME",
    help="Take only launches in the NVTX range of this name, of what `ncu --nvtx` printed.",
)
@click.option(
    "--ask",
    metavar="CC",
    callback=_capability,
    help="Show the metrics to ask ncu for on a chip of this compute capability (9.0), and read no file.",
)
@table_options
def ncu(
    files: tuple[Path, ...],
    by: By | None,
    decimal: str | None,
    nvtx_range: str | None,
    ask: str | None,
    output: Output,
) -> None:
    """What Nsight Compute counted: time, FLOP, bytes and intensity of each kernel, and their sums.

    FILES are what `ncu --csv` printed, any page of it, or .ncu-rep reports. Several are of one program and have
    different metrics of the same launches: they are joined.

    Exit code: 0, or 3 where a file can't be read, two don't belong together, or no launch is in the range.
    """
    if ask is not None:
        if output.form != "table":
            raise click.UsageError(
                "--ask shows a text, no table: leave --format out, or name a file that ends in .txt."
            )
        emit_text(request(ask), output.path)
        return
    if not files:
        raise click.UsageError("Missing argument 'FILES...'.")
    counted = count(read_all(files, None if decimal is None else _MARKS[decimal], nvtx_range))
    plain = output.is_data
    rows = _rows(counted.kernels, by or ("launch" if plain else "kernel"), in_order=plain)
    what = "kind" if by == "kind" else "kernel"
    emit([table(counted, rows, what, with_total=not plain)], output)


def _rows(kernels: tuple[KernelSum, ...], by: By, *, in_order: bool) -> Sequence[KernelSum]:
    if by == "launch":
        return kernels if in_order else slowest_first(kernels)
    return by_kind(kernels) if by == "kind" else by_kernel(kernels)
