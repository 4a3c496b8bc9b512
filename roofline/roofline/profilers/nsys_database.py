"""nsys's SQLite export, opened: which version of the schema it has, which tables, and with which columns.

Only nsys's own report is forward compatible; the export's schema changes, and says which it is in ``META_DATA_EXPORT``
(Nsight Systems, Analysis Guide, "SQLite Schema Reference": a new major version breaks every query, a new minor one
may rename a column, a micro one only adds). So the version is read first, and columns are taken by name.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.reader import ReadError

MAJOR = 3
NEWEST_MINOR = 28
"""Of Nsight Systems 2026.4: the newest whose schema was looked at."""

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


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open an export to read it. Damage that shows only later, in a query, is told in the same way.

    :raises ReadError: it is no SQLite database, none of nsys's, damaged, or of a schema that this version doesn't know.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            # A kernel's name may hold anything, and a name is no reason to lose the numbers.
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            yield _described(path, connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where its own message has damaged bytes
        raise ReadError(
            f"{path}: the database can't be read ({error}). Is the copy complete, and was nsys export let to finish?"
            f" Export it again: {how_to_export(path.with_suffix('.nsys-rep'))}"
        ) from error


def how_to_export(report: Path) -> str:
    """The command that makes an export of nsys's own report."""
    return f"nsys export --type sqlite --output {report.with_suffix('.sqlite')} {report}"


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
    told = {}
    if columns.get("META_DATA_EXPORT", frozenset()) >= {"name", "value"}:
        told = {str(name): str(value) for name, value in connection.execute("SELECT name, value FROM META_DATA_EXPORT")}
    parts = [told[name] for name in _VERSION_PARTS if name in told]
    schema = told.get("EXPORT_SCHEMA_VERSION", ".".join(parts) or None)
    product = told.get("EXPORT_PRODUCT_VERSION")
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
