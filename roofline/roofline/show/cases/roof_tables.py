"""The tables of roofs: over the cases of all files, in use by a run, and as published for devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from roofline.machine.published import BYTE_ROOFS, PublishedDevice, PublishedRoof
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """A printed figure of a device; ``roof`` is None where nothing can be said about the name."""

    device: PublishedDevice
    roof: PublishedRoof | None


def devices_table(devices: Sequence[PublishedDevice]) -> Table[PublishedFigure]:
    """Peak per precision with its units, accumulation and source; the bandwidth of its memory."""
    rows = [PublishedFigure(device=device, roof=roof) for device in devices for roof in device.roofs or (None,)]
    return Table(
        title="Published roofs (dense)",
        columns=_COLUMNS,
        rows=rows,
        display=_DISPLAY,
        section=lambda row: f"{row.device.name} ({row.device.source}, {row.device.date})",
        section_title="device",
        notes=[f"{device.name}: {device.note}" for device in devices if device.note],
    )


def _unit(row: PublishedFigure) -> str | None:
    return None if row.roof is None else "B/s" if row.roof.name in BYTE_ROOFS else "FLOP/s"


def _peak(row: PublishedFigure) -> str | None:
    return None if row.roof is None else scaled(row.roof.value, _unit(row) or "", 4)


def _cores(row: PublishedFigure) -> str | None:
    if row.roof is None or row.roof.tensor is None:
        return None
    return "tensor or matrix cores" if row.roof.tensor else "vector cores"


_PRECISION: Column[PublishedFigure] = words(
    "roof",
    "precision",
    "roof.name",
    lambda name: {"dram": "memory", "llc": "last-level cache"}.get(name, name),
    dtype="category",
)
_CORES: Column[PublishedFigure] = words("cores", "units", _cores, narrow=lambda units: units.split()[0], drop=1)
_SUM: Column[PublishedFigure] = words("accumulate", "sum in", "roof.accumulate", drop=2, dtype="category")

_COLUMNS: tuple[Column[PublishedFigure], ...] = (
    words("device", get="device.name", dtype="category"),
    words("aliases", "also", lambda row: list(row.device.aliases)),
    _PRECISION,
    number("value", get="roof.value"),
    words("unit", get=_unit, dtype="category"),
    number("tensor", get="roof.tensor", dtype="boolean"),
    _SUM,
    number("dense", get="roof.dense", dtype="boolean"),
    words("source", get="device.source", dtype="category"),
    words("date", get="device.date", dtype="category"),
    words("note", get="device.note"),
)

_DISPLAY: tuple[Column[PublishedFigure], ...] = (_PRECISION, number("peak", get=_peak), _CORES, _SUM)
