"""Choose the roofs of a result: those of its file, else those published for exactly its device, else none.

Decided for each roof by itself, since a run may have measured fp32 and not fp16; every roof keeps its source. The knee
is the compute roof divided by the memory roof (Williams, Waterman, Patterson 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from roofline.machine.published import DeviceTable
from roofline.results.result import ResultFile
from roofline.schema.amounts import usable
from roofline.schema.record import Device
from roofline.schema.session import Roof, RoofKind
from roofline.text.units import percent, scaled

BUSY_SPREAD = 0.10
"""A roof whose samples differ by more was measured while something else used the machine."""

BEYOND_PUBLISHED = 1.25
"""A clock above the rated one explains no more than this share of a published figure."""

_NEXT_LEVEL = {"llc": "dram", "dram": "host_to_device"}
"""Level of memory -> the next slower one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """The ceilings of one device. ``why_none`` is given when there is not one.

    ``published`` are those of the device table, measured or not.
    """

    roofs: tuple[Roof, ...]
    why_none: str | None = None
    published: tuple[Roof, ...] = ()
    flop_per_s: Mapping[str, float] = field(init=False, repr=False, compare=False)
    """The compute roofs by dtype."""
    _by_name: dict[tuple[RoofKind, str], Roof] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {(roof.kind, roof.name): roof for roof in reversed(self.roofs)}
        object.__setattr__(self, "_by_name", by_name)
        flop_per_s = {name: roof.value for (kind, name), roof in by_name.items() if kind == "flop"}
        object.__setattr__(self, "flop_per_s", flop_per_s)

    @property
    def levels(self) -> tuple[Roof, ...]:
        """The memory roofs that bound: DRAM, and the last-level cache unless it was measured slower than DRAM."""
        dram, llc = self.get("byte", "dram"), self.get("byte", "llc")
        if dram is not None and llc is not None and llc.value < dram.value:
            return (dram,)
        return tuple(roof for roof in (dram, llc) if roof is not None)

    @property
    def notices(self) -> tuple[str, ...]:
        """Lines on faults of the roofs themselves."""
        found = doubts(self.roofs, self.published)
        if not found:
            return ()
        told = "; ".join(f"{name} ({why})" for name, why in found.items())
        llc = self.get("byte", "llc")
        instead = "" if llc is None or llc in self.levels else " DRAM's roof stands for the cache's, too."
        return (f"Doubtful roofs, to be measured again on an idle machine: {told}.{instead}",)

    def get(self, kind: RoofKind, name: str) -> Roof | None:
        return self._by_name.get((kind, name))

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
        """The source of the roofs of these names: ``measured``, ``spec``, ``mixed``, or None."""
        wanted = set(names)
        sources = {roof.source for roof in self.roofs if roof.name in wanted}
        return "mixed" if len(sources) > 1 else next(iter(sources), None)


def roofs_of(result: ResultFile, device: Device, table: DeviceTable) -> Roofs:
    """The roofs for a benchmark of ``result`` that ran on ``device``."""
    of_session = () if result.session is None else result.session.roofs
    measured = tuple(roof for roof in of_session if usable(roof.value))
    published = table.find(device.name)
    have = {(roof.kind, roof.name) for roof in measured}
    taken = [roof for roof in published.best() if (roof.kind, roof.name) not in have] if published is not None else []
    roofs = (*measured, *taken)
    if roofs:
        return Roofs(roofs=roofs, published=published.best() if published is not None else ())
    if published is not None:
        return Roofs(roofs=(), why_none=f"none measured in this file; of {device.name}: {published.note}")
    return Roofs(
        roofs=(),
        why_none=f"none measured in this file and none published for {device.name!r}"
        " (let a run measure them: --roofline-roofs auto; or describe the device in a file: --devices FILE)",
    )


def doubts(roofs: Iterable[Roof], published: Iterable[Roof] = ()) -> dict[str, str]:
    """Say why measured roofs may be wrong: disturbed, samples far apart, or a contradiction.

    Contradictory are a level of memory that is slower than the next, and more than a clock above the rated one explains
    of what is published for the device. A latency has no level and no published value.

    :param roofs: of one machine.
    :returns: the reasons by the names of the roofs; nothing of a sound one.
    """
    roofs = tuple(roofs)
    peaks = {(roof.kind, roof.name): roof.value for roof in published}
    bandwidths = {roof.name: roof.value for roof in roofs if roof.kind == "byte"}
    found: dict[str, list[str]] = {}
    for roof in roofs:
        if roof.source != "measured":
            continue
        whys = [roof.disturbed] if roof.disturbed is not None else []
        if (roof.spread or 0.0) > BUSY_SPREAD:
            whys.append(f"its samples differ by {percent(roof.spread)}")
        value, peak = scaled(roof.value, roof.unit), peaks.get((roof.kind, roof.name))
        if peak is not None and roof.value > BEYOND_PUBLISHED * peak:
            whys.append(f"{value}, {scaled(peak, roof.unit)} are published")
        slower = _NEXT_LEVEL.get(roof.name) if roof.kind == "byte" else None
        if slower in bandwidths and roof.value < bandwidths[slower]:
            whys.append(f"{value}, less than {slower}'s {scaled(bandwidths[slower], roof.unit)}")
        if whys:
            found[roof.name] = whys
    return {name: ", ".join(whys) for name, whys in found.items()}
