"""The schema of nsys's SQLite export: its version, its tables and their columns, and the GPUs that it names.

Only nsys's own report is forward compatible; the export's schema changes, and says which it is in ``META_DATA_EXPORT``
(Nsight Systems, Analysis Guide, "SQLite Schema Reference": a new major version breaks every query, a new minor one
may rename a column, a micro one only adds). So the version is read first, and columns are taken by name.

A kernel's ``deviceId`` is what its own process calls the GPU: with ``CUDA_VISIBLE_DEVICES`` every rank of a job may
call its own "0". The table TARGET_INFO_CUDA_DEVICE says, for each process, which GPU of the machine that is (`Gpus`).
"""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.files.decoding import ReadError
from roofline.profilers.timeline import MOST_BYTE

if TYPE_CHECKING:
    import pandas as pd

EMPTY = "empty_capture"

HOW_TO_CAPTURE = (
    "Profile with --trace=cuda, let the program end by itself or call torch.cuda.synchronize() before it does, and"
    " trace its children (--trace-fork-before-exec=true) if they do the work; where a new nsys traces by hardware, try"
    " --trace=cuda-sw."
)
MAJOR = 3
NEWEST_MINOR = 28
"""Of Nsight Systems 2026.4: the newest whose schema was looked at."""

_HEADER_BYTE = 100

_OWN = re.compile(
    r"StringIds|META_DATA_(EXPORT|CAPTURE)|CUPTI_ACTIVITY_KIND_\w+|TARGET_INFO_\w+|ANALYSIS_\w+|NVTX_EVENTS|GPU_METRICS"
    r"|DIAGNOSTIC_EVENT|ENUM_CUDA_\w+"
)
"""Tables that tell an export of nsys from any other database."""

_VERSION_PARTS = tuple(f"EXPORT_SCHEMA_VERSION_{part}" for part in ("MAJOR", "MINOR", "MICRO"))
"""The version once more, in pieces: some exports have these alone."""

_NVPROF = "StringTable"
"""What nvprof's database, which has the same names for its activities, has for nsys's StringIds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """``columns`` are those of each table; ``schema`` and ``product`` are None where the file doesn't tell.

    ``newer`` marks a schema that is newer than all that were looked at.
    """

    path: Path
    connection: sqlite3.Connection
    columns: Mapping[str, frozenset[str]]
    schema: str | None
    product: str | None
    newer: bool

    def has(self, table: str, *columns: str) -> bool:
        return table in self.columns and self.columns[table].issuperset(columns)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(query, values).fetchall()

    def count(self, table: str) -> int:
        """Of its rows; 0 where there is no such table, for nsys makes none for what it didn't see."""
        return int(self.rows(f"SELECT COUNT(*) FROM {table}")[0][0]) if table in self.columns else 0

    def texts(self, table: str, column: str) -> dict[int, str]:
        """By their numbers, those that a column of a table has in place of texts; none where either isn't there."""
        if not self.has("StringIds", "id", "value") or not self.has(table, column):
            return {}
        query = f'SELECT id, value FROM StringIds WHERE id IN (SELECT "{column}" FROM {table})'
        return {number: str(text) for number, text in self.rows(query) if text is not None}


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open an export to read it. Damage that shows only later, in a query, is reported in the same way.

    :raises ReadError: it is no SQLite database, none of nsys's, cut off, damaged, held by another program, or of a
        schema that this version doesn't know.
    """
    _refuse_cut_off(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            # A kernel's name may hold anything, and a name is no reason to lose the numbers.
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            yield _described(path, connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where its own message has damaged bytes
        if isinstance(error, sqlite3.Error) and _primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise ReadError(
                f"{path}: the database can't be read ({error}): another program holds it. Wait until nsys export is"
                " done, or close the program that has it open, and try again."
            ) from error
        raise ReadError(
            f"{path}: the database can't be read ({error}). Is the copy complete, and was nsys export let to finish?"
            f" Export it again: {how_to_export(path.with_suffix('.nsys-rep'))}"
        ) from error


def how_to_export(report: Path) -> str:
    """The command that makes an export of nsys's own report, as a shell takes it, whatever the path holds."""
    return shlex.join(
        ("nsys", "export", "--type", "sqlite", "--output", str(report.with_suffix(".sqlite")), str(report))
    )


def _refuse_cut_off(path: Path) -> None:
    """SQLite itself reads zeros for what is missing of the last page, and numbers of zero would pass for measured ones.

    The header's fields are those of https://www.sqlite.org/fileformat.html, section 1.3: size of a page at 16, change
    counter at 24, number of pages at 28, and at 92 the counter for which that number holds.

    :raises ReadError: there is less of the file than its header says.
    """
    try:
        with path.open("rb") as file:
            header, size = file.read(_HEADER_BYTE), path.stat().st_size
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    whole = (65536 if page == 1 else page) * pages
    if len(header) < _HEADER_BYTE or (header[24:28] == header[92:96] and size < whole):
        there = f"{size} of its {whole} bytes" if len(header) == _HEADER_BYTE else f"{size} bytes, no whole header,"
        raise ReadError(
            f"{path}: the database can't be read (cut off: {there} are there). The copy is incomplete, or nsys export"
            f" was stopped. Copy it again, or export it again: {how_to_export(path.with_suffix('.nsys-rep'))}"
        )


def _primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's code without what it is in detail (the higher bytes); None for an error of Python's module itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _described(path: Path, connection: sqlite3.Connection) -> Database:
    tables = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    own = [table for table in tables if _OWN.fullmatch(table)]
    if not own or _NVPROF in tables:
        found = ", ".join(tables[:8]) or "none"
        raise ReadError(
            f"{path}: a SQLite database, but {'of nvprof' if _NVPROF in tables else 'no export of nsys'} (its tables:"
            f" {found}). Give what nsys export --type sqlite wrote."
        )
    columns = {
        table: frozenset(str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")) for table in own
    }
    values = {}
    if columns.get("META_DATA_EXPORT", frozenset()) >= {"name", "value"}:
        values = {
            str(name): str(value) for name, value in connection.execute("SELECT name, value FROM META_DATA_EXPORT")
        }
    parts = [values[name] for name in _VERSION_PARTS if name in values]
    schema = values.get("EXPORT_SCHEMA_VERSION", ".".join(parts) or None)
    product = values.get("EXPORT_PRODUCT_VERSION")
    return Database(
        path=path,
        connection=connection,
        columns=columns,
        schema=schema,
        product=None if product is None else f"Nsight Systems {product}",
        newer=schema is not None and _minor(path, schema) > NEWEST_MINOR,
    )


def _minor(path: Path, schema: str) -> int:
    """:raises ReadError: another major version, under which no query holds."""
    match = re.fullmatch(r"(\d{1,9})\.(\d{1,9})(?:\.\d{1,9})?", schema)
    if match is None or int(match[1]) != MAJOR:
        report = path.with_suffix(".nsys-rep")
        raise ReadError(
            f"{path}: unknown schema {schema}. This version reads {MAJOR}.0 to {MAJOR}.{NEWEST_MINOR}. Let nsys sum it"
            " up itself, and give what it prints: nsys stats --report cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,"
            f"cuda_gpu_mem_size_sum --format csv {report} > {path.with_suffix('.csv')}"
        )
    return int(match[2])


UNKNOWN = -1
"""In place of a number that the export doesn't have."""

_MOST_BYTE_PER_S = 10**15
"""A peak beyond is none: a hundred times that of the fastest GPU of today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """``known``: ``number`` is the machine's. Otherwise it is what processes called it, maybe each another one."""

    number: int
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """``names`` and ``peak_byte_per_s`` (of DRAM, as the driver says) are by the machine's number of the GPU.

    ``numbers`` is that number by process and by the number that the process uses.
    """

    names: Mapping[int, str]
    peak_byte_per_s: Mapping[int, float]
    numbers: Mapping[tuple[int, int], int]

    def of(self, process: int, device: int) -> Gpu:
        known = self.numbers.get((process, device))
        if known is None and len(candidates := {gpu for (_, name), gpu in self.numbers.items() if name == device}) == 1:
            (known,) = candidates
        if known is None and not self.numbers and len(self.names) == 1 and device in self.names:
            known = device
        return Gpu(number=device if known is None else known, known=known is not None)

    def label(self, gpu: Gpu) -> str:
        """Number and name, as far as they are known."""
        if gpu.number == UNKNOWN:
            return "not recorded"
        name = self.names.get(gpu.number) if gpu.known else None
        return f"{gpu.number} {name}" if name else str(gpu.number)


def gpus_of(database: Database) -> Gpus:
    """What the export says of the machine's GPUs; nothing where it lacks the tables."""
    names: dict[int, str] = {}
    peaks: dict[int, float] = {}
    if database.has("TARGET_INFO_GPU", "id", "name"):
        for number, name in database.rows("SELECT id, name FROM TARGET_INFO_GPU WHERE typeof(id) = 'integer'"):
            names[number] = "" if name is None else str(name)
    if database.has("TARGET_INFO_GPU", "id", "memoryBandwidth"):
        # The schema calls it "amount of memory transferred (B)"; what stands there is the peak, in byte/s.
        peaks = {
            number: float(rate)
            for number, rate in database.rows(
                "SELECT id, memoryBandwidth FROM TARGET_INFO_GPU"
                " WHERE typeof(id) = 'integer' AND typeof(memoryBandwidth) = 'integer'"
                f" AND memoryBandwidth BETWEEN 1 AND {_MOST_BYTE_PER_S}"
            )
        }
    numbers: dict[tuple[int, int], int] = {}
    if database.has("TARGET_INFO_CUDA_DEVICE", "gpuId", "cudaId", "pid"):
        for number, device, process in database.rows(
            "SELECT gpuId, cudaId, pid FROM TARGET_INFO_CUDA_DEVICE WHERE typeof(gpuId) = 'integer'"
            " AND typeof(cudaId) = 'integer' AND typeof(pid) = 'integer'"
        ):
            numbers[process, device] = number
    return Gpus(names=names, peak_byte_per_s=peaks, numbers=numbers)


KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
FILLS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

LAST_NS = 2**53
"""Time since the start of the session beyond which floats don't hold every nanosecond: 104 days. None runs so long."""

USABLE = (
    f"typeof(start) = 'integer' AND typeof(\"end\") = 'integer' AND start BETWEEN {-LAST_NS} AND {LAST_NS}"
    f' AND "end" BETWEEN start AND {LAST_NS}'
)
"""A row whose times are usable, as SQL: of the tables that have ``start`` and ``end``."""

PROCESS_SHIFT, PROCESS_MASK = 24, 0xFFFFFF
"""Of the global id of a process or a thread, bits 24 to 47 are the process (Nsight Systems, "Serialized process and
thread identifiers").
"""

_FIELDS = ("start", "end", "device", "process", "stream", "what", "byte", "correlation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Activities:
    """The rows of one table: n usable ones, and ``lost`` others, whose times are missing, or which never ended.

    ``what`` is the number of a name or of a direction, ``correlation`` that of the call that launched it. `UNKNOWN`
    stands for what a row or the table doesn't have.
    ``lacks`` names a column without which nothing can be read; then all rows are lost.
    """

    rows: pd.DataFrame
    lost: int = 0
    lacks: str | None = None

    def __len__(self) -> int:
        return len(self.rows)


def activities(database: Database, table: str, what: str | None = None) -> Activities:
    """The rows of a table; none where it isn't there.

    :param what: the column to read as such.
    """
    import numpy as np
    import pandas as pd

    layout = np.dtype([(field, np.int64) for field in _FIELDS])
    nothing = pd.DataFrame(np.empty(0, layout))
    if not database.has(table):
        return Activities(rows=nothing)
    there = database.columns[table]
    for column in ("start", "end", *([what] if what else [])):
        if column not in there:
            return Activities(rows=nothing, lacks=column, lost=database.count(table))

    def number(column: str, show: str = '"{}"') -> str:
        return f"COALESCE(CAST({show.format(column)} AS INTEGER), {UNKNOWN})" if column in there else str(UNKNOWN)

    process = number("globalPid", f'("{{}}" >> {PROCESS_SHIFT} & {PROCESS_MASK})')
    stream = number("streamId")
    byte = f"CASE WHEN typeof(bytes) = 'integer' AND bytes BETWEEN 0 AND {MOST_BYTE} THEN bytes ELSE {UNKNOWN} END"
    query = (
        f'SELECT start, "end", {number("deviceId")}, {process}, {stream}, {number(what) if what else UNKNOWN},'
        f" {byte if 'bytes' in there else UNKNOWN}, {number('correlationId')} FROM {table}"
    )
    rows = pd.DataFrame(np.fromiter(database.connection.execute(f"{query} WHERE {USABLE}"), layout))
    return Activities(rows=rows, lost=database.count(table) - len(rows))
