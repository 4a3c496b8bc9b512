"""The tables of roofs: those over the cases of all files, and those in use by a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from roofline.model.points import Point
from roofline.schema.session import Roof
from roofline.show.columns import notes_of, pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import minute, percent, scaled, significant

ROOF_COLUMNS: tuple[Column[Roof], ...] = (
    words("roof", get="name", dtype="category"),
    number("value"),
    words("unit", dtype="category"),
    number("spread", show=percent),
    words("source", dtype="category"),
    words("measured_at", "when", dtype="datetime64[us, UTC]"),
    words("from_file", "from", dtype="category"),
    words("disturbed"),
    words("kernel"),
    words("detail", "how counted"),
)


class RoofOfFile(NamedTuple):
    """A roof, and a case under it."""

    point: Point
    roof: Roof


def all_roofs_table(points: Iterable[Point]) -> Table[RoofOfFile]:
    """A row for each roof over the cases of a file: measured ones, and published ones where none was."""
    # All cases of a device have the same object of its roofs, and the hash of one takes long.
    shared = {id(point.roofs): point for point in points if point.roofs.roofs}
    of_files = {(point.result.path, point.roofs.roofs): point for point in shared.values()}
    return Table(
        title="Roofs",
        columns=[
            *pick("machine", "file", of="point"),
            *(column.of(attrgetter("roof")) for column in ROOF_COLUMNS),
            *notes_of(of_files.values(), of="point"),
        ],
        rows=[RoofOfFile(point, roof) for point in of_files.values() for roof in point.roofs.roofs],
    )


def roofs_table(points: Sequence[Point]) -> Table[Roof]:
    """The roofs over these points, each with its source; published ones only where a point needs them.

    :param points: of one device.
    """
    roofs = points[0].roofs
    records = [point.benchmark.record for point in points]
    works = [record.work for record in records if record is not None and record.work is not None]
    needed = {"dram"}.union(*(work.dtypes for work in works))
    shown = [roof for roof in roofs.roofs if roof.source == "measured" or roof.name in needed]
    knees = {roof.name: roofs.knee_flop_per_byte(roof.name) for roof in shown if roof.kind == "flop"}
    display: list[Column[Roof]] = [
        words("roof", get="name"),
        number("value", get=lambda roof: scaled(roof.value, roof.unit)),
        number("knee", "knee\nFLOP/byte", lambda roof: knees.get(roof.name), significant, drop=4),
        number("spread", show=percent, drop=3),
        words("source"),
        words("when", "when (UTC)", "measured_at", minute, drop=1),
        words("by", "kernel or document", lambda roof: roof.kernel or roof.detail, drop=5),
    ]
    older = sorted({roof.from_file for roof in shown if roof.from_file is not None})
    notes = [f"Taken over from an earlier run of this machine: {', '.join(older)}"] if older else []
    notes += roofs.notices
    if not shown:
        notes.append(f"None: {roofs.why_none}")
    return Table(title="Roofs", columns=ROOF_COLUMNS, rows=shown, display=display, notes=notes)
