"""Machines side by side: the same workload on each. Nothing is pooled: a row is one run of one machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from roofline.model.point_groups import cases, machine_names, newest
from roofline.model.points import MachineKey, Point
from roofline.schema.amounts import usable
from roofline.show.columns import notes_of, pick
from roofline.show.machine_columns import differences_under_a_label
from roofline.show.tables import Column, Table, grouped, number, words
from roofline.text.units import significant, some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesRow:
    """A workload on one machine. ``speed_up`` is over the same workload on the first machine.

    ``sources_differ_in`` names the columns in which the sources of the fraction of the roof are others than those of
    the first row of the workload that has a fraction; None in that row, and where there is no fraction.
    """

    point: Point
    machine: str
    speed_up: float | None
    sources_differ_in: tuple[str, ...] | None


def machine_column(points: Iterable[Point], of: str = "") -> Column[Any]:
    """The machine's name, which its label alone may not be.

    :param points: of all rows.
    :param of: where a row has its point; empty: it is one.
    """
    names = machine_names(points)
    named: Column[Point] = words("machine", get=lambda point: names[point.machine])
    return named.of(attrgetter(of)) if of else named


def machines_table(points: Sequence[Point], *, verbose: bool = False) -> Table[MachinesRow]:
    """The workloads that were measured on more than one machine, with notes on what could not be compared.

    Invalid rows are left out and named.

    Rows of one workload hash stand together; the same name with another hash is another workload. The first machine
    given is the one the others are held against.

    :param verbose: name every case that a note is about. Else the first, and how many more.
    """
    listed = ", ".join if verbose else some_of
    shown, notes = newest(cases(points))
    names = machine_names(shown)
    order = list(names)
    in_order = sorted((point for point in shown if point.valid), key=lambda point: order.index(point.machine))
    by_workload = grouped(in_order, lambda point: point.workload)
    alone = len(names) == 1
    rows = [
        MachinesRow(
            point=point,
            machine=names[point.machine],
            speed_up=_speed_up(group[0], point, order[0]),
            sources_differ_in=_differing(group, point),
        )
        for group in by_workload.values()
        if alone or len({point.machine for point in group}) > 1
        for point in group
    ]
    first = next(iter(names.values()), "")
    without_record = all(row.point.benchmark.record is None for row in rows)
    rate = ("step_time_s", "spread") if rows and without_record else ("samples_per_s", "samples_per_s_sd")
    title = f"Machines side by side; speed-up over {first}" if rows else "No workload was measured on two machines"
    return Table(
        title=f"{first}: no other machine beside it" if alone else title,
        columns=[*_COLUMNS, *notes_of((row.point for row in rows), of="point")],
        rows=rows,
        display=[_MACHINE, *pick(*rate, of="point"), _SPEED_UP, *pick(*_SHOWN, of="point")],
        section=lambda row: row.point.id,
        section_title="case",
        notes=[
            *notes,
            *differences_under_a_label(shown, listed),
            *_invalid(shown, names, listed),
            *_drifted(rows, listed),
            *_not_compared(by_workload, names, listed),
            *_differences(rows),
        ],
    )


_KEY = ("case", "workload_hash", "device")
_RATE = ("samples_per_s", "samples_per_s_sd", "sample_unit")
_ROOF = ("fraction_of_roof_low", "fraction_of_roof_high")
_SOURCES = ("flop_source", "provenance", "roof_source", "time_basis")
"""What a fraction of the roof rests on: with another source it may be another number on the same machine."""
_STANDING = (
    *("fraction_of_speed_of_light", "bound", "bound_why"),
    *("step_time_s", "latency_median_s", "latency_p95_s", "latency_p99_s", "valid", "flags", "started_at", "file"),
)
_SHOWN = ("fraction_of_roof", "bound", "latency_median_s")
(_LATENCY,) = pick("latency_median_s")
_MACHINE: Column[MachinesRow] = words("machine", dtype="category")
_SPEED_UP: Column[MachinesRow] = number("speed_up", "speed-up", show=lambda value: f"{significant(value)}x")
_DIFFERING: Column[MachinesRow] = number("sources_differ_in", "other sources", dtype="string")


_COLUMNS = (
    *(*pick(*_KEY, of="point"), _MACHINE, *pick(*_RATE, of="point"), _SPEED_UP),
    *(*pick(*_ROOF, *_SOURCES, of="point"), _DIFFERING, *pick(*_STANDING, of="point")),
)

Listed = Callable[[list[str]], str]


def _invalid(points: Iterable[Point], names: dict[MachineKey, str], listed: Listed) -> list[str]:
    """A note for each machine with rows that nothing may be compared with."""
    rows: dict[str, list[str]] = {}
    for point in points:
        if not point.valid:
            flags = ", ".join(flag.name for flag in point.flags if flag.invalid)
            rows.setdefault(names[point.machine], []).append(f"{point.id} ({flags})")
    return [f"Invalid on {machine}, left out: {listed(named)}" for machine, named in rows.items()]


def _drifted(rows: Sequence[MachinesRow], listed: Listed) -> list[str]:
    """A note for each machine with rows whose step time changed meanwhile: single steps come after all rounds."""
    drifted = [
        row
        for row in rows
        if _LATENCY.get(row.point) is not None and any(flag.name == "drift" for flag in row.point.flags)
    ]
    return [
        f"Drift on {machine}, where throughput and latency may be of different speeds:"
        f" {listed([row.point.id for row in of])}"
        for machine, of in grouped(drifted, lambda row: row.machine).items()
    ]


def _speed_up(first: Point, point: Point, reference: MachineKey) -> float | None:
    if first is point or first.machine != reference or first.step_time_s is None or point.step_time_s is None:
        return None
    if not usable(first.step_time_s) or not usable(point.step_time_s):
        return None
    # The same workload has the same samples a step: times say what throughputs say, and are there without a record.
    return first.step_time_s / point.step_time_s


def _not_compared(
    by_workload: dict[tuple[str, str], list[Point]], names: dict[MachineKey, str], listed: Listed
) -> list[str]:
    """:param by_workload: the valid rows."""
    if len(names) == 1:
        return []
    notes = []
    hashes: dict[str, set[str]] = {}
    for name, digest in by_workload:
        hashes.setdefault(name, set()).add(digest)
    changed = sorted(name for name, found in hashes.items() if len(found) > 1)
    if changed:
        notes.append(f"Another workload under the same name (model, shapes or options differ): {listed(changed)}")
    only: dict[MachineKey, list[str]] = {machine: [] for machine in names}
    ids = Counter(group[0].id for group in by_workload.values())
    for (name, _), group in by_workload.items():
        if name not in changed and len(machines := {point.machine for point in group}) == 1:
            # Of tests of one name the path tells which is meant.
            only[machines.pop()].append(name if ids[group[0].id] > 1 else group[0].id)
    notes += [f"Only on {names[machine]}: {listed(cases)}" for machine, cases in only.items() if cases]
    if any(point.benchmark.record is None for group in by_workload.values() for point in group):
        notes.append(
            "Rows without a record were matched by the test's path and name alone: that the work is the same isn't"
            " proven"
        )
    return notes


def _differing(group: Sequence[Point], point: Point) -> tuple[str, ...] | None:
    """:param group: all rows of the workload of ``point``."""
    first = next((one for one in group if one.placement.fraction_low is not None), None)
    if first is None or point is first or point.placement.fraction_low is None:
        return None
    return tuple(column.name for column in pick(*_SOURCES) if column.get(point) != column.get(first))


def _differences(rows: Sequence[MachinesRow]) -> list[str]:
    """Name what may explain a difference beside the machines: sources of the fraction of the roof, and versions."""
    sources = dict.fromkeys(name for row in rows for name in row.sources_differ_in or ())
    machines = [row.point.result.machine for row in rows if row.point.result.machine is not None]
    versions = [
        package
        for package in ("torch", "cuda", "cudnn")
        if len({version for machine in machines if (version := machine.versions.get(package)) is not None}) > 1
    ]
    notes = [f"% of roof doesn't compare, its sources differ: {', '.join(sources)}"] if sources else []
    return [*notes, f"Versions differ: {', '.join(versions)}"] if versions else notes
