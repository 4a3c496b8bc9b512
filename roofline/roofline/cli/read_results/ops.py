"""``roofline ops``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import click
from click.core import ParameterSource

from roofline.cli.console import NoData, WrongUsage, tell
from roofline.cli.inputs import INPUT, devices_option, listed_cases, named_case, read_points
from roofline.cli.output import emit, write_bytes
from roofline.cli.parameters import Output, OutputFile, table_options, verbose_option
from roofline.machine.published import DeviceTable
from roofline.model.point_groups import cases, newest
from roofline.model.points import Point
from roofline.schema.record import Record
from roofline.show.step.kernel_tables import kernel_table, kernels_table, reconciliation_table
from roofline.show.step.operation_tables import (
    cases_table,
    kinds_table,
    limits_table,
    operations_table,
    outside_table,
    taken_apart,
    worst_table,
)
from roofline.show.step.step_notes import NEGATIVE_OUTSIDE, NO_SHARES, RESERVATIONS, about_status
from roofline.show.tables import Table

By = Literal["operation", "kind", "kernel", "kernel-kind", "counters"]

_OF_ONE_CASE = {"by": "--by", "top": "--top", "figure": "--plot"}
"""Parameters of the command that only the tables of one case heed, and how they are given."""

_MEASURE_AGAIN = (
    "Operations are timed by `pytest` with this version, in a pass of its own after each case: measure again."
)


@click.command()
@click.argument("result", type=INPUT)
@click.argument("case", required=False)
@click.option(
    "--by",
    type=click.Choice(get_args(By)),
    default="operation",
    show_default=True,
    help="A row for each operation and its shapes, for each kind of operation, for each kernel of a GPU, or for each"
    " kind of kernels; or what was counted against what hardware counters saw.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=15,
    show_default=True,
    help="Rows to show; the others stand in one row, so that the columns add up. CSV and JSON have all.",
)
@click.option(
    "--plot",
    "figure",
    type=OutputFile(".png"),
    help="PNG file: the case's roofline with a point for each operation, its area the time. Of a compiled case: the "
    "time of its kernels.",
)
@table_options
@verbose_option
@devices_option
def ops(
    result: Path,
    case: str | None,
    by: By,
    top: int,
    figure: Path | None,
    output: Output,
    verbose: bool,
    devices: DeviceTable,
) -> None:
    """Take the step of a CASE of RESULT (a file or folder) apart: where its time goes, and what to fix first.

    CASE is an id, or a part that only one has. Without it, where there are several: a line a case, and none of --by,
    --top and --plot. Each operation is held against its own speed of light, the least time that the machine's roofs
    allow it.
    """
    shown, notes = newest(cases(read_points([result], devices)))
    for note in notes:
        tell(note)
    unreadable = [point for point in shown if point.benchmark.fault is not None]
    points = [point for point in shown if point.mode in ("train", "infer")]
    if not points:
        raise NoData(f"{result}: no case with a record of its work in it. {_MEASURE_AGAIN}")
    chosen = points if case is None else named_case(case, points, str(result), unreadable)
    if len({point.id for point in chosen}) > 1:
        _refuse_options_of_one(chosen)
        _several(chosen, result, output, verbose=verbose or output.is_data)
        return
    plain = output.is_data
    tables = [table for point in chosen for table in _tables(point, by, top, plain=plain)]
    emit(tables, output)
    if figure is not None:
        _draw(chosen, figure)


def _refuse_options_of_one(points: Sequence[Point]) -> None:
    """:raises click.UsageError: an option was given that a table of several cases wouldn't heed."""
    context = click.get_current_context()
    for name, option in _OF_ONE_CASE.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise WrongUsage(f"{option} is for one case: name a case. There are {listed_cases(points)}.")


def _several(points: Sequence[Point], result: Path, output: Output, *, verbose: bool) -> None:
    """:param verbose: name the cases that a note is about, not only how many they are.

    :raises NoData: no case has times of its operations.
    """
    taken, left_out = taken_apart(points)
    if not taken:
        raise NoData(f"{result}: no case has times of its operations ({left_out[0][1]}). {_MEASURE_AGAIN}")
    reasons: dict[str, list[Point]] = {}
    for point, why in left_out:
        reasons.setdefault(f"Not taken apart, {why}", []).append(point)
    for name in RESERVATIONS:
        if flagged := [point for point in taken if any(flag.name == name for flag in point.flags)]:
            reasons[f"Timing less certain ({name})"] = flagged
    steps = [(point, point.step) for point in taken if point.step is not None]
    if unshared := [point for point, step in steps if not step.has_shares]:
        reasons[NO_SHARES] = unshared
    if negative := [point for point, step in steps if step.has_shares and step.outside_s < 0]:
        reasons[NEGATIVE_OUTSIDE] = negative
    if invalid := [point for point in taken if not point.valid]:
        reasons["Invalid, their own tables say why"] = invalid
    notes = [f"{why}: {listed_cases(of, len(of) if verbose else 1)}" for why, of in reasons.items()]
    emit([cases_table(taken, notes)], output)


def _tables(point: Point, by: By, top: int, *, plain: bool) -> list[Table[Any]]:
    """:param plain: for a program to read: one table, of every row.

    :raises NoData: there is nothing to show of this case.
    """
    if by in ("kernel", "kernel-kind", "counters"):
        return _tables_of_kernels(point, by, top, plain=plain)
    by_kind = by == "kind"
    taken, left_out = taken_apart([point])
    if taken and plain:
        notes = limits_table(taken[0]).notes
        return [kinds_table(taken, notes) if by_kind else operations_table(taken, notes)]
    if taken:
        of_operations = [limits_table(taken[0]), worst_table(taken[0], top, by_kind=by_kind)]
        return _there(*of_operations, *_of_kernels(point, top, by_kind=by_kind), reconciliation_table(point))
    why = left_out[0][1]
    outside = outside_table(point, why, None if plain else top)
    if outside is None:
        raise NoData(f"{point.id}: {why}. {_MEASURE_AGAIN}")
    _, counted = _of_kernels(point, top, by_kind=by_kind)
    return [outside] if plain else _there(outside, counted, reconciliation_table(point))


def _of_kernels(point: Point, top: int, *, by_kind: bool) -> tuple[Table[Any] | None, Table[Any] | None]:
    """By the profiler's times and by counters."""
    by_profiler = kernel_table(point, "profiler", top, by_kind=by_kind)
    return by_profiler, kernel_table(point, "counters", top, by_kind=by_kind)


def _there(*tables: Table[Any] | None) -> list[Table[Any]]:
    """Those that this case has."""
    return [table for table in tables if table is not None]


def _tables_of_kernels(point: Point, by: By, top: int, *, plain: bool) -> list[Table[Any]]:
    """:raises NoData: there are none to show of this case."""
    record = point.benchmark.record
    assert record is not None
    for note in about_status(record):
        tell(f"{point.id}: {note}")
    profiled, counted = _of_kernels(point, top, by_kind=by == "kernel-kind")
    tables = _there(reconciliation_table(point) if by == "counters" else profiled, counted)
    if not tables:
        raise NoData(f"{point.id}: {_why_no_kernels(record, by)}")
    if not plain:
        return tables
    if by == "counters":
        return tables[:1]
    return [kernels_table([point], by_kind=by == "kernel-kind")]


def _why_no_kernels(record: Record, by: By) -> str:
    if by == "counters":
        counters = record.counters
        status = "none in the record" if counters is None else counters.status.replace("_", " ")
        return (
            f"no hardware counters ({status}). They are read where pytest is given --ncu, in a suite without that"
            " short spelling --roofline-ncu."
        )
    if record.device.kind == "cpu":
        return "a CPU has no kernels apart from its operations: --by operation has those."
    if record.profile is not None and record.profile.kernels:
        return "no kernel in its record has a usable time and number of launches."
    why = record.missing.get("profile", "not kept by the version that measured")
    return f"no times of kernels ({why}). {_MEASURE_AGAIN}"


def _draw(points: Sequence[Point], path: Path) -> None:
    """:param points: of one case, all of which have tables."""
    if len(points) > 1:
        raise WrongUsage(f"--plot draws one case, and {points[0].id} was measured on several machines here.")
    # matplotlib takes half a second to load.
    from roofline.plots.rooflines.operation_bars import step_figure
    from roofline.plots.style import save

    save(step_figure(points[0]), path, write=write_bytes)
