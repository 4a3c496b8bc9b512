"""nsys's SQLite export, opened: which version of the schema it has, which tables, and with which columns.

Only nsys's own report is forward compatible; the export's schema changes, and says which it is in ``META_DATA_EXPORT``
(Nsight Systems, Analysis Guide, "SQLite Schema Reference": a new major version breaks every query, a new minor one
may rename a column, a micro one only adds). So the version is read first, and columns are taken by name.
"""

from __future__ import annotations

import re
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.files.text import ReadError

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
    """Open an export to read it. Damage that shows only later, in a query, is told in the same way.

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
