"""Which roofs a result is held against: those its file carries, else those published for exactly its device, else none.

Decided for each roof by itself, since a run may have measured fp32 and not fp16; every roof keeps its source. The knee
is the compute roof divided by the memory roof (Williams, Waterman, Patterson 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from roofline.amounts import usable
from roofline.devices import DeviceTable
from roofline.reader import ResultFile
from roofline.record import Device, Roof, RoofKind
from roofline.units import scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """The ceilings of one device. ``why_none`` is given when there is not one."""

    roofs: tuple[Roof, ...]
    why_none: str | None = None

    @property
    def levels(self) -> tuple[Roof, ...]:
        """The memory roofs that bound: DRAM, and the last-level cache unless it was measured slower than DRAM."""
        dram, llc = self.get("byte", "dram"), self.get("byte", "llc")
        if dram is not None and llc is not None and llc.value < dram.value:
            return (dram,)
        return tuple(roof for roof in (dram, llc) if roof is not None)

    @property
    def notices(self) -> tuple[str, ...]:
        """What is wrong with the roofs themselves."""
        llc = self.get("byte", "llc")
        if llc is None or llc in self.levels:
            return ()
        return (
            f"The last-level cache reached {scaled(llc.value, 'B/s')}, less than DRAM's"
            f" {scaled(self.value('byte', 'dram'), 'B/s')}: something else used the machine while it was measured."
            " DRAM's roof stands for both. Measure the roofs again on an idle machine.",
        )

    def get(self, kind: RoofKind, name: str) -> Roof | None:
        return next((roof for roof in self.roofs if roof.kind == kind and roof.name == name), None)

    def value(self, kind: RoofKind, name: str) -> float | None:
        """FLOP/s, byte/s or seconds; None where there is no such roof."""
        roof = self.get(kind, name)
        return None if roof is None else roof.value

    def compute_flop_per_s(self, flop_by_dtype: Mapping[str, float]) -> float | None:
        """The ceiling of a mixture of dtypes: total FLOP / sum(FLOP of a dtype / its roof), the units taking turns.

        None where a dtype that was used has no roof: another dtype's would be a wrong ceiling.
        """
        used = {dtype: flop for dtype, flop in flop_by_dtype.items() if flop > 0}
        if len(used) == 1:
            return self.value("flop", next(iter(used)))  # the formula would round it
        seconds = 0.0
        for dtype, flop in used.items():
            roof = self.value("flop", dtype)
            if roof is None:
                return None
            seconds += flop / roof
        total = sum(used.values())
        return total / seconds if usable(total) and usable(seconds) else None

    def knee_flop_per_byte(self, dtype: str) -> float | None:
        """Intensity above which ``dtype`` is limited by its units and not by DRAM."""
        compute, memory = self.value("flop", dtype), self.value("byte", "dram")
        return None if compute is None or memory is None else compute / memory

    def missing(self, flop_by_dtype: Mapping[str, float]) -> tuple[str, ...]:
        """The dtypes used for which there is no roof."""
        return tuple(dtype for dtype, flop in flop_by_dtype.items() if flop > 0 and self.get("flop", dtype) is None)

    def source_of(self, names: Iterable[str]) -> str | None:
        """Where the roofs of these names come from: ``measured``, ``spec``, ``mixed``, or None."""
        wanted = set(names)
        sources = {roof.source for roof in self.roofs if roof.name in wanted}
        return "mixed" if len(sources) > 1 else next(iter(sources), None)


def roofs_of(result: ResultFile, device: Device, table: DeviceTable) -> Roofs:
    """The roofs for a benchmark of ``result`` that ran on ``device``."""
    measured = _usable(result.session.roofs if result.session is not None else ())
    published = table.find(device.name)
    have = {(roof.kind, roof.name) for roof in measured}
    taken = [roof for roof in published.best() if (roof.kind, roof.name) not in have] if published is not None else []
    roofs = (*measured, *taken)
    if roofs:
        return Roofs(roofs=roofs)
    if published is not None:
        return Roofs(roofs=(), why_none=f"none measured in this file; of {device.name}: {published.note}")
    return Roofs(
        roofs=(),
        why_none=f"none measured in this file and none published for {device.name!r}"
        " (let a run measure them: --roofline-roofs auto; or describe the device in a file: --devices FILE)",
    )


def _usable(roofs: Iterable[Roof]) -> tuple[Roof, ...]:
    return tuple(roof for roof in roofs if usable(roof.value))
