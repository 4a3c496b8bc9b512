"""SQLite exports as nsys makes them, small: tables and columns of NVIDIA's schema reference (schema 3.28.1)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

SCHEMA = "3.24.14"
PRODUCT = "2026.1.1.204"

PID = 4711

KERNEL = """start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER"""
COPY = """start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
    copyKind INTEGER NOT NULL"""
FILL = """start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL,
    bytes INTEGER NOT NULL"""
GRAPH = """start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER,
    graphExecId INTEGER"""
RANGE = """start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
    color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,
    uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL,
    jsonTextId INTEGER, jsonText TEXT, binaryData TEXT"""
CALL = """start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER"""

TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": COPY,
    "CUPTI_ACTIVITY_KIND_MEMSET": FILL,
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": GRAPH,
    "CUPTI_ACTIVITY_KIND_RUNTIME": CALL,
    "NVTX_EVENTS": RANGE,
    "TARGET_INFO_GPU": "vmId INTEGER, id INTEGER NOT NULL, name TEXT, busLocation TEXT, memoryBandwidth INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT",
    "ENUM_CUDA_MEMCPY_OPER": "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT",
    "TARGET_INFO_GPU_METRICS": """typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, typeName TEXT NOT NULL,
        metricId INTEGER NOT NULL, metricName TEXT NOT NULL""",
    "GPU_METRICS": """rawTimestamp INTEGER NOT NULL, timestamp INTEGER NOT NULL, typeId INTEGER NOT NULL,
        metricId INTEGER NOT NULL, value INTEGER NOT NULL""",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER, severity INTEGER, text TEXT",
}
"""Columns that the schema has and nobody reads are there as well: what is read must be taken by name."""


def process(pid: int) -> int:
    """A process as nsys serializes it: among the bits of virtual machine and thread."""
    return (7 << 48) | (pid << 24)


def kernel(
    start: int,
    end: int,
    name: int = 1,
    *,
    device: int = 0,
    stream: int = 7,
    pid: int = PID,
    call: int | None = None,
) -> dict[str, Any]:
    """A launch; ``name`` is the number of its string, ``call`` that of the call that launched it."""
    return {
        "start": start,
        "end": end,
        "deviceId": device,
        "contextId": 1,
        "streamId": stream,
        "globalPid": process(pid),
        "demangledName": name,
        "shortName": name,
        **({} if call is None else {"correlationId": call}),
    }


def copy(start: int, end: int, byte: int, kind: int = 1, *, device: int = 0, stream: int = 13) -> dict[str, Any]:
    """A copy; 1 is host to device, 2 device to host."""
    return {
        "start": start,
        "end": end,
        "deviceId": device,
        "contextId": 1,
        "streamId": stream,
        "globalPid": process(PID),
        "bytes": byte,
        "copyKind": kind,
    }


def fill(start: int, end: int, byte: int) -> dict[str, Any]:
    row = copy(start, end, byte)
    del row["copyKind"]
    return {**row, "value": 0}


def graph(start: int, end: int) -> dict[str, Any]:
    row = kernel(start, end)
    return {name: row[name] for name in ("start", "end", "deviceId", "contextId", "streamId", "globalPid")}


def thread(tid: int, pid: int = PID) -> int:
    """A thread as nsys serializes it: its process, and its own number below."""
    return process(pid) | tid


def call(number: int, start: int, *, tid: int = 1, pid: int = PID, kind: int = 0) -> dict[str, Any]:
    """A call of the CUDA runtime (0) or the driver (1), or its backtrace (67), that takes 5 ns."""
    return {
        "start": start,
        "end": start + 5,
        "eventClass": kind,
        "globalTid": thread(tid, pid),
        "correlationId": number,
        "nameId": 1,
        "returnValue": 0,
    }


def marked(
    start: int,
    end: int | None,
    text: str | None,
    *,
    kind: int = 59,
    tid: int = 1,
    pid: int = PID,
    number: int | None = None,
    domain: int = 0,
) -> dict[str, Any]:
    """What was done through NVTX: 59 is push and pop, 60 start and end, 34 a mark, 75 the creation of a domain.

    :param number: of a registered string, in place of ``text``.
    """
    return {
        "start": start,
        "end": end,
        "eventType": kind,
        "text": text,
        "globalTid": thread(tid, pid),
        "textId": number,
        "domainId": domain,
    }


def write(
    path: Path,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    strings: Mapping[int, str] | None = None,
    schema: str | None = SCHEMA,
    tables: Mapping[str, str] | None = None,
) -> Path:
    """Make an export.

    :param rows: by table; an empty list makes an empty table, as ``nsys export --lazy=false`` does.
    :param schema: its version; None for an export that does not say.
    :param strings: of StringIds; by default two kernels' names.
    :param tables: the columns of tables that differ from `TABLES`.
    """
    columns = {**TABLES, **(tables or {})}
    names = {1: "ampere_sgemm_128x64_tn", 2: "vectorized_elementwise_kernel"} if strings is None else strings
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
        connection.executemany("INSERT INTO StringIds VALUES (?, ?)", names.items())
        if schema is not None:
            connection.execute("CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT)")
            told = {"EXPORT_PRODUCT_VERSION": PRODUCT, "EXPORT_SCHEMA_VERSION": schema}
            connection.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", told.items())
        for table, content in rows.items():
            connection.execute(f"CREATE TABLE {table} ({columns[table]})")
            for row in content:
                _insert(connection, table, row)
        connection.commit()
    return path


def _insert(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(f'"{name}"' for name in row)
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", [*row.values()])


A100 = {"vmId": 1, "id": 0, "name": "NVIDIA A100-SXM4-40GB", "memoryBandwidth": 1_555_200_000_000}

METRIC_TYPE = (0x70B3 << 32) | 0
"""The lowest byte is the GPU's number."""


def metrics(names: Iterable[str], gpu: int = 0) -> list[dict[str, Any]]:
    """Rows of TARGET_INFO_GPU_METRICS: metrics 19, 20, ... by these names."""
    return [
        {
            "typeId": METRIC_TYPE | gpu,
            "sourceId": 5,
            "typeName": "GPU Metrics [GA100]",
            "metricId": 19 + place,
            "metricName": name,
        }
        for place, name in enumerate(names)
    ]


def samples(at: Mapping[int, Sequence[float]], gpu: int = 0) -> list[dict[str, Any]]:
    """Rows of GPU_METRICS: by time the values of metrics 19, 20, ..."""
    return [
        {"rawTimestamp": time, "timestamp": time, "typeId": METRIC_TYPE | gpu, "metricId": 19 + place, "value": value}
        for time, values in at.items()
        for place, value in enumerate(values)
    ]
