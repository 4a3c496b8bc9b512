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
    MAJOR,
    NEWEST_MINOR,
    Database,
    Gpu,
    Gpus,
    activities,
    gpus_of,
    opened,
)
from roofline.profilers.timeline import (
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
)
from roofline.text.units import scaled

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
        everything = kernels, graphs, copies, fills = [
            activities(database, table) for table in (KERNELS, GRAPHS, COPIES, FILLS)
        ]
        gpus = gpus_of(database)
        devices, spans, unsure = _devices(everything, gpus)
        dram, dram_section = dram_rows(database, gpus, spans)
        ranges, range_section = range_rows(database, kernels, len(graphs))
        kernel_table, kernel_section = _kernels(database, kernels, graphs)
        moves = [*_copies(database, copies), *([_copied("memset", fills)] if len(fills) else [])]
        empty = not len(kernels) and not len(graphs)
        return Timeline(
            path=path,
            layout="nsys_export",
            tool=database.product,
            schema=database.schema,
            sections={
                "kernels": kernel_section,
                "memcpy": _section([copies, fills], "copy or fill"),
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


def _kernels(database: Database, kernels: pd.DataFrame, graphs: pd.DataFrame) -> tuple[tuple[KernelRow, ...], Section]:
    """:param graphs: whose kernels are in no row."""
    import pandas as pd

    nodes = f"graph launches seen, no node detail ({len(graphs)} of them, {scaled(_seconds_of(graphs), 's')})."
    if not len(kernels):
        reason = f"{nodes} {_HOW_TO_SEE_NODES}" if len(graphs) else f"no kernel was recorded. {HOW_TO_CAPTURE}"
        return (), Section(state="skipped", reason=reason)
    texts = database.texts(KERNELS, "demangledName")
    named = {number: texts.get(number, f"(string {number})") for number in kernels["what"].unique().tolist()}
    places, names = pd.factorize(kernels["what"].map(named))
    rows = kernel_rows(list(names), places, (kernels["end"] - kernels["start"]).to_numpy())
    if len(graphs):
        reason = f"shown are the kernels outside of graphs: {nodes} {_HOW_TO_SEE_NODES}"
        return rows, Section(state="partial", reason=reason)
    return rows, OK


def _seconds_of(rows: pd.DataFrame) -> float:
    return float((rows["end"] - rows["start"]).astype(float).sum()) / NS_PER_S


def _copies(database: Database, copies: pd.DataFrame) -> list[CopyRow]:
    labels: dict[int, str] = dict(_DIRECTIONS)
    if database.has("ENUM_CUDA_MEMCPY_OPER"):
        labels |= dict(database.rows("SELECT id, label FROM ENUM_CUDA_MEMCPY_OPER WHERE label IS NOT NULL"))
    groups: Any = copies.groupby("what")
    return [_copied(direction(labels.get(number, f"kind {number}")), rows) for number, rows in groups]


def _copied(kind: str, rows: pd.DataFrame) -> CopyRow:
    byte = float(rows["byte"].astype(float).sum())
    return CopyRow(kind=kind, count=len(rows), total_s=_seconds_of(rows), byte=byte)


def _section(parts: Sequence[pd.DataFrame], what: str) -> Section:
    return OK if any(map(len, parts)) else Section(state="skipped", reason=f"no {what} was recorded")


def _devices(parts: Sequence[pd.DataFrame], gpus: Gpus) -> tuple[tuple[DeviceRow, ...], Mapping[Gpu, Busy], list[str]]:
    """A row a GPU, its busy time, and what can't be kept apart.

    :param parts: the first one are kernels, the second one graphs.
    """
    import pandas as pd

    rows = pd.concat([part.assign(part=place) for place, part in enumerate(parts)], ignore_index=True)
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
    """Give what nsys itself said of the capture, and what is unusual about the file."""
    notes = []
    if database.schema is None:
        notes.append("the export doesn't say which schema it has: columns were taken by their names")
    if database.newer:
        notes.append(
            f"schema {database.schema} is newer than {MAJOR}.{NEWEST_MINOR}, the newest looked at: columns were taken"
            " by their names"
        )
    if database.has("DIAGNOSTIC_EVENT"):
        said = [str(text) for (text,) in database.rows("SELECT DISTINCT text FROM DIAGNOSTIC_EVENT")]
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

_LAST_NS = 2**63 - 1

_ROUGH = 0.005
"""Half of the percent in which samples are stored."""


def dram_rows(database: Database, gpus: Gpus, spans: Mapping[Gpu, Busy]) -> tuple[tuple[DramRow, ...], Section]:
    """A row a GPU whose DRAM was sampled.

    :param spans: when each GPU had work: the time over which the samples are averaged, all of it where there was none.
    """
    if not database.has(_DRAM_NAMES, _DRAM_SAMPLES):
        reason = "no GPU metrics were recorded. Profile with --gpu-metrics-devices=all."
        return (), Section(state="skipped", reason=reason)
    named = database.rows(f"SELECT DISTINCT typeId, metricId, metricName FROM {_DRAM_NAMES}")
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
    for type_id, names in sorted(by_type.items()):
        gpu = Gpu(number=type_id & _GPU_BITS, known=True)
        row, fault = _sampled(database, type_id, names, gpus, gpu, _window(gpu, spans))
        rows += [] if row is None else [row]
        faults += [] if fault is None else [f"GPU {gpus.label(gpu)}: {fault}"]
    if faults:
        return tuple(rows), Section(state="partial" if rows else "failed", reason="; ".join(faults))
    return tuple(rows), OK


def _sampled(
    database: Database,
    type_id: int,
    names: Mapping[int, str],
    gpus: Gpus,
    gpu: Gpu,
    window: tuple[int, int] | None,
) -> tuple[DramRow | None, str | None]:
    """One GPU's row, and what is wrong with it.

    :param names: of its metrics by their numbers: ``Read`` and ``Write``.
    """
    marks = ", ".join("?" * len(names))
    found = database.rows(
        f"SELECT metricId, COUNT(*), AVG(value), MIN(timestamp), MAX(timestamp) FROM {_DRAM_SAMPLES} WHERE typeId = ?"
        f" AND metricId IN ({marks}) AND timestamp BETWEEN ? AND ? GROUP BY metricId",
        type_id,
        *names,
        *(window or (-_LAST_NS, _LAST_NS)),
    )
    if not found:
        return None, "no sample of its DRAM while it had work"
    shares = {names[metric]: mean / 100 for metric, _, mean, *_ in found}
    first, last = window or (min(row[3] for row in found), max(row[4] for row in found))
    row = DramRow(
        device=gpus.label(gpu),
        samples=min(count for _, count, *_ in found),
        window_s=(last - first) / NS_PER_S,
        read_share=shares.get("Read"),
        write_share=shares.get("Write"),
        peak_byte_per_s=gpus.peak_byte_per_s.get(gpu.number),
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
        return "the export says no peak of its DRAM (TARGET_INFO_GPU.memoryBandwidth): shares, but no byte/s"
    return None


def about_dram(rows: Iterable[DramRow]) -> list[str]:
    """Give what a reader of the rates must know."""
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
