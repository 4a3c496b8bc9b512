"""The specification table of published roofs: a row for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roofline.machine.published import BYTE_ROOFS, PublishedDevice, PublishedRoof
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import scaled


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
