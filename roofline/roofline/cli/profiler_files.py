"""The commands that read profilers' files: `ncu` its counters, `nsys` and `trace` a timeline."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

from roofline.cli.console import NoData, tell
from roofline.cli.inputs import INPUT
from roofline.cli.output import emit, emit_text, refuse_overwriting
from roofline.cli.parameters import Command, Output, table_options
from roofline.files.decoding import ReadError
from roofline.files.paths import files_under, folders_without
from roofline.profilers.kineto.chrome_trace import read_trace
from roofline.profilers.ncu.kernel_sums import KernelSum, by_kernel, by_kind, count, read_all, slowest_first
from roofline.profilers.ncu.ncu_tables import request, table
from roofline.profilers.ncu.values import Mark
from roofline.profilers.nsys.nsys_file import read_nsys
from roofline.profilers.timeline import Timeline
from roofline.profilers.timeline_tables import (
    UNREADABLE,
    about,
    joined_rows,
    records,
    rows_table,
    tables,
    tables_of_files,
    unreadable,
    without_rows,
)
from roofline.show.export import json_text

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


_WHAT_IS_MISSING = {"empty_capture": "no kernel in it"}
"""In words, what an error that a reader of JSON gets by name means."""


def _files_and_top(function: Command) -> Command:
    """``FILES...`` and ``--top``: passed on as ``files`` and ``top``.

    Files need not be there, nor be readable: reading says why not, and the others are shown.
    """
    top = click.option(
        "--top",
        type=click.IntRange(min=1),
        default=15,
        show_default=True,
        help="Kernels, ranges or operators to show; the others stand in one row, so that the columns add up. CSV and"
        " JSON have all.",
    )
    return click.argument("files", nargs=-1, required=True, type=INPUT)(top(function))


@click.command()
@_files_and_top
@table_options
def nsys(files: tuple[Path, ...], top: int, output: Output) -> None:
    """Sum up what Nsight Systems recorded: kernels, copies, how busy each GPU was, its DRAM traffic, NVTX ranges.

    FILES are SQLite exports (nsys export --type sqlite), of a folder its *.sqlite; or what nsys stats printed, of which
    kernels and copies are read. CSV has the kernels; JSON has the records of all tables, each named by its `table` and
    `file`, and in `sections` whether each part of a file is whole.

    Exit code 3: a file can't be read, or no kernel was recorded in it; the others are shown.
    """
    _show(files, read_nsys, (".sqlite",), top, output)


@click.command()
@_files_and_top
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
    _show(files, read_trace, (".json", ".json.gz"), top, output)


def _show(
    paths: Sequence[Path], read: Callable[[Path], Timeline], endings: tuple[str, ...], top: int, output: Output
) -> None:
    """Read files and show what is in them. JSON is shown even where a file turns out to be of no use; where there are
    several, the others are shown as well.

    :param paths: files, and folders, of which those files are read that have one of the ``endings``.
    :raises NoData: after all that can be shown was: one can't be read, has no part that can be used, or lacks
        what it is read for; or CSV has no place for its rows.
    """
    alone = len(paths) == 1 and not os.path.isdir(paths[0])  # Path.is_dir raises where a folder above is closed
    files, without = [file for file, _ in files_under(paths, endings)], folders_without(paths, endings)
    if not files:
        raise NoData(*(f"{line}." for line in without))
    for line in without:
        tell(f"skipped {line}")
    if output.path is not None:
        refuse_overwriting(output.path, files)
    timelines = [_read(file, read) for file in files]
    if alone and timelines[0].error == UNREADABLE:
        raise NoData(*_problem(timelines[0]))
    _emit(timelines, alone, top, output)
    useless = [one for one in timelines if one.useless]
    head = [f"{len(useless)} of {len(files)} files are of no use:"] if useless and not alone else []
    lost = without_rows([one for one in timelines if not one.useless]) if output.is_one_table else []
    names = ", ".join(map(str, lost))
    if lost:
        head.insert(0, f"not in this CSV, which has kernels: operators of {names}. --format json has them.")
    if useless or lost:
        raise NoData(*head, *(line for one in useless for line in _problem(one)))


def _read(file: Path, read: Callable[[Path], Timeline]) -> Timeline:
    try:
        return read(file)
    except ReadError as error:
        return unreadable(file, str(error))
    except MemoryError:
        return unreadable(file, f"{file}: can't be read (too large for this machine's memory).")


def _emit(timelines: Sequence[Timeline], alone: bool, top: int, output: Output) -> None:
    """:param alone: the one file was asked for by its name; what is shown then has no place for others."""
    useful = [one for one in timelines if not one.useless]
    notes = [f"{one.path}: {note}" for one in useful for note in about(one)]
    if output.form == "json":
        emit_text(json_text([record for one in timelines for record in records(one)]), output.path)
        for note in notes:
            tell(note)
    elif output.is_data and useful:
        rows = rows_table(useful[0]) if alone else joined_rows(useful)
        emit([replace(rows, notes=notes)], output)
    elif not output.is_data and (made := tables(timelines[0], top) if alone else tables_of_files(timelines, top)):
        emit(made, output, complete="--format json")


def _problem(timeline: Timeline) -> list[str]:
    """Say why a file is of no use."""
    if timeline.error == UNREADABLE:
        return str(timeline.sections["file"].reason).splitlines()
    name = f"{timeline.error}: {_WHAT_IS_MISSING[timeline.error]}." if timeline.error else "nothing to show."
    return [f"{timeline.path}: {name}", *(f"  {line}" for line in about(timeline))]
