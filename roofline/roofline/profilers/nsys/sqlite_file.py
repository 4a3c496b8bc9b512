"""nsys's SQLite export: its version, what ran on the GPUs, and the GPUs that it names.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.files.decoding import ReadError

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

_OWN = {"META_DATA_EXPORT", "StringIds"}
"""Tables that tell an export of nsys from any other database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """``schema`` and ``product`` are None where the file doesn't tell; ``newer`` marks a schema that is newer than all
    that were looked at.
    """

    path: Path
    connection: sqlite3.Connection
    tables: frozenset[str]
    schema: str | None
    product: str | None
    newer: bool

    def has(self, *tables: str) -> bool:
        """nsys makes no table of what it didn't see."""
        return self.tables.issuperset(tables)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(query, values).fetchall()

    def numbers(self, names: Sequence[str], query: str) -> pd.DataFrame:
        """Rows of whole numbers.

        :param names: of its columns, in the order of the query.
        """
        import numpy as np
        import pandas as pd

        layout = np.dtype([(name, np.int64) for name in names])
        return pd.DataFrame(np.fromiter(self.connection.execute(query), layout))

    def texts(self, table: str, column: str) -> dict[int, str]:
        """By their numbers, those that a column of a table has in place of texts."""
        if not self.has("StringIds", table):
            return {}
        query = f"SELECT id, value FROM StringIds WHERE id IN (SELECT {column} FROM {table})"
        return {number: str(text) for number, text in self.rows(query)}


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open an export to read it. Damage that shows only later, in a query, is reported in the same way.

    :raises ReadError: it is no SQLite database, none of nsys's, cut off, damaged, held by another program, or of a
        schema that this version doesn't know.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            # A kernel's name may hold anything, and a name is no reason to lose the numbers.
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            yield _described(path, connection)
    except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
        # SQLite stores anything in any column: of a damaged file numbers are none.
        if "locked" in str(error):
            raise ReadError(
                f"{path}: the database can't be read ({error}): another program holds it. Wait until nsys export is"
                " done, or close the program that has it open, and try again."
            ) from error
        if "no such column" in str(error):
            raise _unknown(path, f"in which there is {error}") from error
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, what: str) -> ReadError:
    return ReadError(
        f"{path}: the database can't be read ({what}). Is the copy complete, and was nsys export let to finish? Export"
        f" it again: {how_to_export(path.with_suffix('.nsys-rep'))}"
    )


def _unknown(path: Path, schema: str) -> ReadError:
    report = path.with_suffix(".nsys-rep")
    return ReadError(
        f"{path}: unknown schema {schema}. This version reads {MAJOR}.0 to {MAJOR}.{NEWEST_MINOR}. Let nsys sum it"
        " up itself, and give what it prints: nsys stats --report cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,"
        f"cuda_gpu_mem_size_sum --format csv {report} > {path.with_suffix('.csv')}"
    )


def how_to_export(report: Path) -> str:
    """The command that makes an export of nsys's own report, as a shell takes it, whatever the path holds."""
    return shlex.join(
        ("nsys", "export", "--type", "sqlite", "--output", str(report.with_suffix(".sqlite")), str(report))
    )


def _described(path: Path, connection: sqlite3.Connection) -> Database:
    tables = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    if _OWN.isdisjoint(tables):
        found = ", ".join(tables[:8]) or "none"
        raise ReadError(
            f"{path}: a SQLite database, but no export of nsys (its tables: {found}). Give what nsys export --type"
            " sqlite wrote."
        )
    values: dict[str, str] = {}
    if "META_DATA_EXPORT" in tables:
        values = dict(connection.execute("SELECT name, value FROM META_DATA_EXPORT").fetchall())
    schema = values.get("EXPORT_SCHEMA_VERSION")
    product = values.get("EXPORT_PRODUCT_VERSION")
    return Database(
        path=path,
        connection=connection,
        tables=frozenset(tables),
        schema=schema,
        product=None if product is None else f"Nsight Systems {product}",
        newer=schema is not None and _minor(path, schema) > NEWEST_MINOR,
    )


def _minor(path: Path, schema: str) -> int:
    """:raises ReadError: another major version, under which no query holds."""
    match = re.fullmatch(r"(\d{1,9})\.(\d{1,9})(?:\.\d{1,9})?", schema)
    if match is None or int(match[1]) != MAJOR:
        raise _unknown(path, schema)
    return int(match[2])


UNKNOWN = -1
"""In place of a number that the export doesn't have."""


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
        name = self.names.get(gpu.number) if gpu.known else None
        return f"{gpu.number} {name}" if name else str(gpu.number)


def gpus_of(database: Database) -> Gpus:
    """Read what the export says of the machine's GPUs; nothing where it lacks the tables."""
    rows, numbers = [], []
    if database.has("TARGET_INFO_GPU"):
        # The schema calls it "amount of memory transferred (B)"; what stands there is the peak, in byte/s.
        rows = database.rows("SELECT id, name, memoryBandwidth FROM TARGET_INFO_GPU")
    if database.has("TARGET_INFO_CUDA_DEVICE"):
        numbers = database.rows("SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE")
    return Gpus(
        names={number: name or "" for number, name, _ in rows},
        peak_byte_per_s={number: float(rate) for number, _, rate in rows if rate},
        numbers={(process, device): number for process, device, number in numbers},
    )


KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
FILLS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
"""Calls of the CUDA runtime and of the driver alike."""

PROCESS_SHIFT, PROCESS_MASK = 24, 0xFFFFFF
"""Of the global id of a process or a thread, bits 24 to 47 are the process (Nsight Systems, "Serialized process and
thread identifiers").
"""

_WHAT_AND_BYTE = {
    KERNELS: ("demangledName", UNKNOWN),
    COPIES: ("copyKind", "bytes"),
    FILLS: (UNKNOWN, "bytes"),
    GRAPHS: (UNKNOWN, UNKNOWN),
}
"""Columns that not all of these tables have."""


def activities(database: Database, table: str) -> pd.DataFrame:
    """Read what ran on the GPUs, of one of the four tables; no row where it isn't there.

    ``start`` and ``end`` are in ns, ``what`` is the number of a kernel's name or of a copy's direction, ``correlation``
    that of the call that launched it.

    :raises ReadError: a row that ends before it starts.
    """
    process = f"globalPid >> {PROCESS_SHIFT} & {PROCESS_MASK}"
    what, byte = _WHAT_AND_BYTE[table]
    nullable = (f"COALESCE({one}, {UNKNOWN})" for one in (process, "streamId", what, byte, "correlationId"))
    columns = f'start, "end", deviceId, {", ".join(nullable)}'
    rows = database.numbers(
        ("start", "end", "device", "process", "stream", "what", "byte", "correlation"),
        f"SELECT {columns} FROM {table}" if database.has(table) else f"SELECT {', '.join('0' * 8)} WHERE FALSE",
    )
    if (rows["end"] < rows["start"]).any():
        raise _damaged(database.path, f"a row of {table} ends before it starts")
    return rows
