"""The specification table of published roofs: a row for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roofline.machine.published import BYTE_ROOFS, PublishedDevice, PublishedRoof
from roofline.show.tables import Column, Table
from roofline.text.units import scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A printed figure of a device; ``roof`` is None where nothing can be said about the name."""

    device: PublishedDevice
    roof: PublishedRoof | None


def devices_table(devices: Sequence[PublishedDevice]) -> Table[Row]:
    """Peak per precision with its units, accumulation and source; the bandwidth of its memory."""
    rows = [Row(device=device, roof=roof) for device in devices for roof in device.roofs or (None,)]
    return Table(
        title="Published roofs (dense)",
        columns=_COLUMNS,
        rows=rows,
        display=_DISPLAY,
        section=lambda row: f"{row.device.name} ({row.device.source}, {row.device.date})",
        section_title="device",
        notes=[f"{device.name}: {device.note}" for device in devices if device.note],
    )


def _name(row: Row) -> str | None:
    return None if row.roof is None else row.roof.name


def _full_name(name: str) -> str:
    return {"dram": "memory", "llc": "last-level cache"}.get(name, name)


def _value(row: Row) -> float | None:
    return None if row.roof is None else row.roof.value


def _unit(row: Row) -> str | None:
    return None if row.roof is None else "B/s" if row.roof.name in BYTE_ROOFS else "FLOP/s"


def _peak(row: Row) -> str | None:
    return None if row.roof is None else scaled(row.roof.value, _unit(row) or "", 4)


def _cores(row: Row) -> str | None:
    if row.roof is None or row.roof.tensor is None:
        return None
    return "tensor or matrix cores" if row.roof.tensor else "vector cores"


def _accumulate(row: Row) -> str | None:
    return None if row.roof is None else row.roof.accumulate


_PRECISION: Column[Row] = Column(name="roof", title="precision", get=_name, show=_full_name, right=False)
_CORES: Column[Row] = Column(
    name="cores", title="units", get=_cores, narrow=lambda units: units.split()[0], right=False, drop=1
)
_SUM: Column[Row] = Column(name="accumulate", title="sum in", get=_accumulate, right=False, drop=2)

_COLUMNS: tuple[Column[Row], ...] = (
    Column(name="device", title="device", get=lambda row: row.device.name, right=False),
    Column(name="aliases", title="also", get=lambda row: list(row.device.aliases), right=False),
    _PRECISION,
    Column(name="value", title="value", get=_value),
    Column(name="unit", title="unit", get=_unit, right=False),
    Column(name="tensor", title="tensor", get=lambda row: None if row.roof is None else row.roof.tensor),
    _SUM,
    Column(name="dense", title="dense", get=lambda row: None if row.roof is None else row.roof.dense),
    Column(name="source", title="source", get=lambda row: row.device.source, right=False),
    Column(name="date", title="date", get=lambda row: row.device.date, right=False),
    Column(name="note", title="note", get=lambda row: row.device.note, right=False),
)

_DISPLAY: tuple[Column[Row], ...] = (
    _PRECISION,
    Column(name="peak", title="peak", get=_peak),
    _CORES,
    _SUM,
)
