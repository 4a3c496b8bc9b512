"""DRAM traffic from the GPU metrics of an nsys export (``nsys profile --gpu-metrics-devices=all``).

nsys samples counters of the whole GPU some thousand times a second and stores whole percents of the peak
(``DRAM Read Bandwidth [Throughput %]``). The mean over a span of time is a rate once the peak is known; report 004
made its GB/s so. A mean far below one percent is made of the few samples that weren't rounded to 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from roofline.profilers.busy import NS_PER_S, Busy
from roofline.profilers.nsys.activities import LAST_NS
from roofline.profilers.nsys.database import Database
from roofline.profilers.nsys.devices import Gpu, Gpus
from roofline.profilers.timeline import OK, DramRow, Section

NAMES = "TARGET_INFO_GPU_METRICS"
SAMPLES = "GPU_METRICS"

_DRAM = re.compile(r"DRAM (Read|Write) (?:Bandwidth|Throughput)(?: \[(?P<unit>[^\]]*)\])?")
_PERCENT = ("Throughput %", None)
"""Units of a share of the peak; early versions write none."""

_GPU_BITS = 0xFF
"""Of a ``typeId``: the GPU's number on the machine."""

_ROUGH = 0.005
"""Half of the percent in which samples are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Where the two rates of one GPU are: ``names`` by metric id are ``Read`` and ``Write``."""

    type_id: int
    names: Mapping[int, str]

    @property
    def gpu(self) -> Gpu:
        return Gpu(number=self.type_id & _GPU_BITS, told=True)


def dram_rows(database: Database, gpus: Gpus, spans: Mapping[Gpu, Busy]) -> tuple[tuple[DramRow, ...], Section]:
    """A row a GPU whose DRAM was sampled.

    :param spans: when each GPU had work: the time over which the samples are averaged, all of it where there was none.
    """
    if not database.has(NAMES, "typeId", "metricId", "metricName") or not database.has(
        SAMPLES, "timestamp", "typeId", "metricId", "value"
    ):
        reason = "no GPU metrics were recorded. Profile with --gpu-metrics-devices=all."
        return (), Section(state="skipped", reason=reason)
    told = database.rows(f"SELECT DISTINCT typeId, metricId, metricName FROM {NAMES} WHERE typeof(typeId) = 'integer'")
    matched = [(type_id, metric, match) for type_id, metric, name in told if (match := _DRAM.fullmatch(str(name)))]
    if not matched:
        return (), Section(state="skipped", reason="the GPU metrics recorded have no DRAM rates: some chips have none")
    other = sorted({match[0] for _, _, match in matched if match["unit"] not in _PERCENT})
    if other:
        reason = f"{', '.join(other)} isn't in percent of the peak, the one unit that this version reads"
        return (), Section(state="failed", reason=reason)
    rows: list[DramRow] = []
    faults: list[str] = []
    for source in _sources((type_id, metric, match[1]) for type_id, metric, match in matched):
        row, fault = _sampled(database, source, gpus, spans)
        rows += [] if row is None else [row]
        faults += [] if fault is None else [f"GPU {gpus.label(source.gpu)}: {fault}"]
    if faults:
        return tuple(rows), Section(state="partial" if rows else "failed", reason="; ".join(faults))
    return tuple(rows), OK


def _sources(told: Iterable[tuple[int, int, str]]) -> list[_Source]:
    by_type: dict[int, dict[int, str]] = {}
    for type_id, metric, name in told:
        by_type.setdefault(type_id, {})[metric] = name
    return [_Source(type_id=type_id, names=names) for type_id, names in sorted(by_type.items())]


def _sampled(
    database: Database, source: _Source, gpus: Gpus, spans: Mapping[Gpu, Busy]
) -> tuple[DramRow | None, str | None]:
    """One GPU's row, and what is wrong with it."""
    window = _window(source.gpu, spans)
    marks = ", ".join("?" * len(source.names))
    found = database.rows(
        "SELECT metricId, COUNT(*), AVG(value), MIN(value), MAX(value), MIN(timestamp), MAX(timestamp)"
        f" FROM {SAMPLES} WHERE typeId = ? AND metricId IN ({marks})"
        f" AND typeof(value) IN ('integer', 'real') AND typeof(timestamp) = 'integer' AND timestamp BETWEEN ? AND ?"
        " GROUP BY metricId",
        source.type_id,
        *source.names,
        *(window or (-LAST_NS, LAST_NS)),
    )
    if not found:
        return None, "no sample of its DRAM while it had work"
    if any(least < 0 or most > 100 for _, _, _, least, most, _, _ in found):
        return None, "its DRAM samples aren't all from 0 to 100, so they are no percents"
    shares = {source.names[metric]: mean / 100 for metric, _, mean, *_ in found}
    first, last = window or (min(row[5] for row in found), max(row[6] for row in found))
    row = DramRow(
        device=gpus.label(source.gpu),
        samples=min(count for _, count, *_ in found),
        window_s=(last - first) / NS_PER_S,
        read_share=shares.get("Read"),
        write_share=shares.get("Write"),
        peak_byte_per_s=gpus.peak_byte_per_s.get(source.gpu.number),
    )
    return row, _fault(row)


def _window(gpu: Gpu, spans: Mapping[Gpu, Busy]) -> tuple[int, int] | None:
    """In ns. A GPU whose own work isn't told apart has that of all."""
    own = [spans[gpu]] if gpu in spans else [one for other, one in spans.items() if not other.told]
    if not own:
        return None
    return min(one.start_ns for one in own), max(one.end_ns for one in own)


def _fault(row: DramRow) -> str | None:
    missing = [name for name, share in (("read", row.read_share), ("write", row.write_share)) if share is None]
    if missing:
        return f"no samples of its DRAM {missing[0]}s"
    if row.peak_byte_per_s is None:
        return "the export says no possible peak of its DRAM (TARGET_INFO_GPU.memoryBandwidth): shares, but no byte/s"
    return None


def about_dram(rows: Iterable[DramRow]) -> list[str]:
    """What a reader of the rates must know."""
    rough = [
        row.device
        for row in rows
        if any(share is not None and 0 < share < _ROUGH for share in (row.read_share, row.write_share))
    ]
    if not rough:
        return []
    return [
        f"DRAM of GPU {', '.join(rough)}: a mean below 0.5 % of the peak says little more than that it was nearly idle,"
        " for the samples are whole percents. Count bytes with ncu, or profile a time with more work."
    ]
