"""nsys's SQLite export (``nsys export --type sqlite``) read: kernels, copies, busy time of each GPU, DRAM traffic,
NVTX ranges.

DRAM traffic is of the GPU metrics (``nsys profile --gpu-metrics-devices=all``): nsys samples counters of the whole GPU
some thousand times a second and stores whole percents of the peak (``DRAM Read Bandwidth [Throughput %]``). The mean
over a span of time is a rate once the peak is known. A mean far below one percent is made of the few samples that
weren't rounded to 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.profilers.nsys.nvtx import about_ranges, range_rows
from roofline.profilers.nsys.sqlite_file import (
    COPIES,
    EMPTY,
    FILLS,
    GRAPHS,
    HOW_TO_CAPTURE,
    KERNELS,
    LAST_NS,
    MAJOR,
    NEWEST_MINOR,
    UNKNOWN,
    Activities,
    Database,
    Gpu,
    Gpus,
    activities,
    gpus_of,
    opened,
)
from roofline.profilers.timeline import (
    MOST_BYTE,
    NS_PER_S,
    OK,
    Busy,
    CopyRow,
    DeviceRow,
    DramRow,
    KernelRow,
    Section,
    Timeline,
    copies_first,
    device_row,
    direction,
    kernel_rows,
    with_faults,
)

if TYPE_CHECKING:
    import pandas as pd

_HOW_TO_SEE_NODES = "Profile with --cuda-graph-trace=node to see the kernels in them."

_DIRECTIONS = {
    1: "Host-to-Device",
    2: "Device-to-Host",
    3: "Host-to-Array",
    4: "Array-to-Host",
    5: "Array-to-Array",
    6: "Array-to-Device",
    7: "Device-to-Array",
    8: "Device-to-Device",
    9: "Host-to-Host",
    10: "Peer-to-Peer",
}
"""Of copies, by number (CUPTI's ``CUpti_ActivityMemcpyKind``), for an export that lacks the table of their names."""

_LOSSES = ("dropped", "lost", "incomplete", "not all", "might not")
"""Words by which one of nsys's own messages tells that there is less in the file than happened."""


def read_export(path: Path) -> Timeline:
    """Read an export.

    :raises ReadError: as `opened` does.
    """
    with opened(path) as database:
        name = next((one for one in ("demangledName", "shortName") if database.has(KERNELS, one)), "demangledName")
        kernels = activities(database, KERNELS, name)
        graphs = activities(database, GRAPHS)
        copies = activities(database, COPIES, "copyKind")
        fills = activities(database, FILLS)
        gpus = gpus_of(database)
        everything = [kernels, graphs, copies, fills]
        devices, spans, unsure = _devices(everything, gpus)
        dram, dram_section = dram_rows(database, gpus, spans)
        ranges, range_section = range_rows(database, kernels, len(graphs) + graphs.lost)
        kernel_table, kernel_section = _kernels(database, kernels, name, graphs)
        moves = [*_copies(database, copies), *([_copied("memset", fills.rows)] if len(fills) else [])]
        unsized = [*_unsized(database, COPIES, copies), *_unsized(database, FILLS, fills)]
        empty = not any(len(rows) + rows.lost for rows in (kernels, graphs))
        return Timeline(
            path=path,
            layout="nsys_export",
            tool=database.product,
            schema=database.schema,
            sections={
                "kernels": kernel_section,
                "memcpy": with_faults(_section([copies, fills], "copy or fill"), unsized),
                "devices": _section(everything, "GPU work"),
                "dram": dram_section,
                "nvtx": range_section,
            },
            kernels=kernel_table,
            copies=copies_first(moves),
            devices=devices,
            dram=dram,
            ranges=ranges,
            error=EMPTY if empty else None,
            notes=(*_about(database, empty), *unsure, *about_dram(dram), *about_ranges(ranges)),
        )


def _kernels(
    database: Database, kernels: Activities, name: str, graphs: Activities
) -> tuple[tuple[KernelRow, ...], Section]:
    """:param graphs: whose kernels are in no row."""
    launched = len(graphs) + graphs.lost
    if not len(kernels):
        if not kernels.lost:
            reason = _nodes_missing(graphs) if launched else f"no kernel was recorded. {HOW_TO_CAPTURE}"
            return (), Section(state="skipped", reason=reason)
        return (), _section([kernels], "kernel")
    import pandas as pd

    texts = database.texts(KERNELS, name)
    numbers = kernels.rows["what"].unique().tolist()
    places, names = pd.factorize(
        kernels.rows["what"].map({number: texts.get(number, f"(string {number})") for number in numbers})
    )
    rows = kernel_rows(list(names), places, (kernels.rows["end"] - kernels.rows["start"]).to_numpy())
    nameless = sum(number not in texts for number in numbers)
    faults = [
        *([_lost([kernels], "kernel")] if kernels.lost else []),
        *([f"kernels without a name in StringIds: {nameless}"] if nameless else []),
        *([f"shown are the kernels outside of graphs: {_nodes_missing(graphs)}"] if launched else []),
    ]
    return rows, Section(state="partial", reason="; ".join(faults)) if faults else OK


def _nodes_missing(graphs: Activities) -> str:
    took = f", {_seconds_of(graphs.rows):.6g} s" if len(graphs) else ""
    return f"graph launches seen, no node detail ({len(graphs) + graphs.lost} of them{took}). {_HOW_TO_SEE_NODES}"


def _seconds_of(rows: pd.DataFrame) -> float:
    return float((rows["end"] - rows["start"]).astype(float).sum()) / NS_PER_S


def _copies(database: Database, copies: Activities) -> list[CopyRow]:
    labels: Mapping[int, str] = _DIRECTIONS
    if database.has("ENUM_CUDA_MEMCPY_OPER", "id", "label"):
        named = database.rows("SELECT id, label FROM ENUM_CUDA_MEMCPY_OPER WHERE label IS NOT NULL")
        labels = {**_DIRECTIONS, **{number: str(label) for number, label in named}}
    groups: Any = copies.rows.groupby("what")
    return [_copied(direction(labels.get(number, f"kind {number}")), rows) for number, rows in groups]


def _copied(kind: str, rows: pd.DataFrame) -> CopyRow:
    byte = None if (rows["byte"] == UNKNOWN).any() else float(rows["byte"].astype(float).sum())
    return CopyRow(kind=kind, count=len(rows), total_s=_seconds_of(rows), byte=byte)


def _unsized(database: Database, table: str, rows: Activities) -> list[str]:
    """Why a direction of a table has no bytes."""
    lost = int((rows.rows["byte"] == UNKNOWN).sum())
    if not lost:
        return []
    if not database.has(table, "bytes"):
        return [f"no bytes, for {table} has no column bytes"]
    return [
        f"no sum of bytes, for {lost} of {len(rows)} rows of {table} have no whole number from 0 to {MOST_BYTE} in the"
        " column bytes"
    ]


def _section(parts: Sequence[Activities], what: str) -> Section:
    """The state of what was read of some tables."""
    usable = sum(map(len, parts))
    lacking = [part.lacks for part in parts if part.lacks is not None and part.lost]
    if lacking:
        reason = f"the export has no column {' and no column '.join(lacking)}, by which this version reads a {what}"
        return Section(state="partial" if usable else "failed", reason=reason)
    if any(part.lost for part in parts):
        return Section(state="partial" if usable else "failed", reason=_lost(parts, what))
    return OK if usable else Section(state="skipped", reason=f"no {what} was recorded")


def _lost(parts: Sequence[Activities], what: str) -> str:
    lost = sum(part.lost for part in parts)
    return (
        f"{lost} of {lost + sum(map(len, parts))} rows left out: without a start and an end after it, a {what} has no"
        " time"
    )


def _devices(parts: Sequence[Activities], gpus: Gpus) -> tuple[tuple[DeviceRow, ...], Mapping[Gpu, Busy], list[str]]:
    """A row a GPU, its busy time, and what can't be kept apart.

    :param parts: the first one are kernels, the second one graphs.
    """
    import pandas as pd

    rows = pd.concat([part.rows.assign(part=place) for place, part in enumerate(parts)], ignore_index=True)
    groups: Any = rows.groupby(["process", "device"])
    by_gpu: dict[Gpu, list[pd.DataFrame]] = {}
    for (process, device), own in groups:
        by_gpu.setdefault(gpus.of(process, device), []).append(own)
    found: list[DeviceRow] = []
    spans: dict[Gpu, Busy] = {}
    for gpu in sorted(by_gpu, key=lambda gpu: (not gpu.known, gpu.number)):
        own = pd.concat(by_gpu[gpu])
        kernels = None if (own["part"] == 1).any() else own[own["part"] == 0]
        row = device_row(gpus.label(gpu), own, kernels, len(own[["process", "stream"]].drop_duplicates()))
        spans[gpu] = row.busy
        found.append(row)
    unsure = [
        f"{len(own)} processes called a GPU {gpu.number}, and the export doesn't tell whether it was the same one:"
        " they are taken together"
        for gpu, own in by_gpu.items()
        if not gpu.known and len(own) > 1
    ]
    return tuple(found), spans, unsure


def _about(database: Database, empty: bool) -> list[str]:
    """What nsys itself said of the capture, and what is unusual about the file."""
    notes = []
    if database.schema is None:
        notes.append("the export doesn't say which schema it has: columns were taken by their names")
    if database.newer:
        notes.append(
            f"schema {database.schema} is newer than {MAJOR}.{NEWEST_MINOR}, the newest looked at: columns were taken"
            " by their names"
        )
    if database.has("DIAGNOSTIC_EVENT", "text"):
        said = [str(text) for (text,) in database.rows("SELECT DISTINCT text FROM DIAGNOSTIC_EVENT LIMIT 10000")]
        words = (*_LOSSES, "cuda", "cupti") if empty else _LOSSES
        relevant = [" ".join(text.split()) for text in said if any(word in text.lower() for word in words)]
        notes += [f"nsys said: {text}" for text in relevant[:5]]
    return notes


_DRAM_NAMES = "TARGET_INFO_GPU_METRICS"
_DRAM_SAMPLES = "GPU_METRICS"

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
        return Gpu(number=self.type_id & _GPU_BITS, known=True)


def dram_rows(database: Database, gpus: Gpus, spans: Mapping[Gpu, Busy]) -> tuple[tuple[DramRow, ...], Section]:
    """A row a GPU whose DRAM was sampled.

    :param spans: when each GPU had work: the time over which the samples are averaged, all of it where there was none.
    """
    if not database.has(_DRAM_NAMES, "typeId", "metricId", "metricName") or not database.has(
        _DRAM_SAMPLES, "timestamp", "typeId", "metricId", "value"
    ):
        reason = "no GPU metrics were recorded. Profile with --gpu-metrics-devices=all."
        return (), Section(state="skipped", reason=reason)
    named = database.rows(
        f"SELECT DISTINCT typeId, metricId, metricName FROM {_DRAM_NAMES} WHERE typeof(typeId) = 'integer'"
    )
    matched = [(type_id, metric, match) for type_id, metric, name in named if (match := _DRAM.fullmatch(str(name)))]
    if not matched:
        return (), Section(state="skipped", reason="the GPU metrics recorded have no DRAM rates: some chips have none")
    other = sorted({match[0] for _, _, match in matched if match["unit"] not in _PERCENT})
    if other:
        reason = f"{', '.join(other)} isn't in percent of the peak, the one unit that this version reads"
        return (), Section(state="failed", reason=reason)
    rows: list[DramRow] = []
    faults: list[str] = []
    by_type: dict[int, dict[int, str]] = {}
    for type_id, metric, match in matched:
        by_type.setdefault(type_id, {})[metric] = match[1]
    for source in (_Source(type_id=type_id, names=names) for type_id, names in sorted(by_type.items())):
        row, fault = _sampled(database, source, gpus, spans)
        rows += [] if row is None else [row]
        faults += [] if fault is None else [f"GPU {gpus.label(source.gpu)}: {fault}"]
    if faults:
        return tuple(rows), Section(state="partial" if rows else "failed", reason="; ".join(faults))
    return tuple(rows), OK


def _sampled(
    database: Database, source: _Source, gpus: Gpus, spans: Mapping[Gpu, Busy]
) -> tuple[DramRow | None, str | None]:
    """One GPU's row, and what is wrong with it."""
    window = _window(source.gpu, spans)
    marks = ", ".join("?" * len(source.names))
    found = database.rows(
        "SELECT metricId, COUNT(*), AVG(value), MIN(value), MAX(value), MIN(timestamp), MAX(timestamp)"
        f" FROM {_DRAM_SAMPLES} WHERE typeId = ? AND metricId IN ({marks})"
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
    """In ns. A GPU whose own work isn't kept apart has that of all."""
    own = [spans[gpu]] if gpu in spans else [one for other, one in spans.items() if not other.known]
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
