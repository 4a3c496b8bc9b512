"""SQL on a store, by DuckDB: each table is a view of the files of its batches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline.files.decoding import ReadError
from roofline.files.places import file_system_of, names_below, shown, url_of
from roofline.frames import FRAMES
from roofline.machine.published import DeviceTable
from roofline.results.stored_runs import ENDING, LACKS_PYARROW, RUNS, is_store
from roofline.show.columns import CASE_COLUMNS
from roofline.show.export import PANDAS_TIME
from roofline.show.tables import Column, Dtype, Table
from roofline.store.batches import AT_ONCE, LATER, make_tables
from roofline.store.processes import in_processes
from roofline.text.units import counted, percent, scaled, significant, unit_of

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class WrongQuery(Exception):
    """SQL that can't be run, or that isn't one SELECT. The message is DuckDB's where it has one."""


def ask(store: Path, sql: str, devices: DeviceTable, tell: Callable[[str], None]) -> Table[Any]:
    """Run a SELECT on a store.

    :param sql: of the tables ``runs`` and `roofline.frames.FRAMES`.
    :param devices: published roofs, for tables that have to be made first.
    :param tell: is told that they have to be.
    :returns: a table of its rows. A column with the name of a case's has that one's heading and format; of any other
        the name says the unit.
    :raises WrongQuery: it is no SELECT, or DuckDB says what is wrong with it.
    :raises ReadError: the store can't be read.
    :raises OSError: a table that has to be made can't be written.
    """
    found = answer(store, sql, devices, tell)
    names = found.column_names
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise WrongQuery(f"two columns are called {twice!r}: name one of them with AS.")
    rows = list(zip(*(map(_plain, column.to_pylist()) for column in found.columns), strict=True))
    columns = [_column(place, field) for place, field in enumerate(found.schema)]
    return Table(title=counted(len(rows), "row"), columns=columns, rows=rows)


def answer(store: Path, sql: str, devices: DeviceTable, tell: Callable[[str], None]) -> pa.Table:
    """Run a SELECT on a store, and return what DuckDB gives. Parameters and errors are those of `ask`."""
    try:
        import duckdb
        import pyarrow  # noqa: F401 - DuckDB gives its tables
    except ImportError as error:
        raise ReadError(f"{shown(store)}: {LACKS_PYARROW}") from error
    if not is_store(store):
        raise ReadError(f"{shown(store)}: no store. `roofline store add` makes one.")
    with duckdb.connect() as connection:
        try:
            statements = connection.extract_statements(sql)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise WrongQuery("give one SELECT: a store is only read.")
        except duckdb.Error as error:
            # The name of a column is a word of SQL, too.
            hint = '\n\nThe column "case" has to stand in double quotes.' * bool(re.search(r'(?i)(?<!")\bcase\b', sql))
            raise WrongQuery(f"{error}{hint}") from error
        named = _named(sql)
        _make_tables(store, [table for table in LATER if table in named], devices, tell)
        try:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET parquet_metadata_cache = true")
            _make_views(connection, store, named or (RUNS, *FRAMES))
        except duckdb.Error as error:
            what = str(error).partition("\n")[0]
            raise ReadError(f"{shown(store)}: can't be read ({what}). {_remedy(store)}") from error
        try:
            return connection.sql(statements[0]).to_arrow_table()
        except duckdb.Error as error:
            raise WrongQuery(str(error)) from error


def _remedy(store: Path) -> str:
    return f"`roofline store add NEW {shown(store)}` makes a whole store of its files."


def _named(sql: str) -> list[str]:
    """List the tables whose names SQL has in it. DuckDB tells none of a join before they are there."""
    return [table for table in (RUNS, *FRAMES) if re.search(rf"\b{table}\b", sql, re.IGNORECASE)]


def _files(store: Path) -> dict[str, dict[str, str]]:
    """List what is below a store, by table and batch.

    :raises ReadError: it can't be looked into, or there is no run in it.
    """
    try:
        names = names_below(store, ENDING)
    except OSError as error:
        raise ReadError(f"{shown(store)}: can't be read ({error.strerror or error}).") from error
    files: dict[str, dict[str, str]] = defaultdict(dict)
    for name in names:
        table, _, batch = name.partition("/")
        files[table][batch] = f"{shown(store)}/{name}"
    if not files[RUNS]:
        raise ReadError(f"{shown(store)}: no run in it.")
    return files


def _make_tables(store: Path, tables: Sequence[str], devices: DeviceTable, tell: Callable[[str], None]) -> None:
    """Make those of the tables of `LATER` that a batch lacks.

    :raises OSError: one can't be written.
    """
    if not tables:
        return
    files = _files(store)
    lacking = [batch for batch in files[RUNS] if any(batch not in files[table] for table in tables)]
    if lacking:
        tell(f"{shown(store)}: making {', '.join(LATER)} of what was added")
    for _ in in_processes(partial(make_tables, store, devices, tables=LATER), lacking):
        pass


def _make_views(connection: duckdb.DuckDBPyConnection, store: Path, tables: Iterable[str]) -> None:
    """Make a view of each table that is there. Each takes a while where there are many batches.

    :raises ReadError: the store can't be looked into, there is no run in it, or a file of a table is gone.
    :raises duckdb.Error: a file can't be read.
    """
    if (url := url_of(store)) is not None:
        connection.register_filesystem(file_system_of(url)[0])
    files = _files(store)
    twice = _added_twice(connection, files[RUNS])
    for table in tables:
        there = {batch: path for batch, path in files[table].items() if batch in files[RUNS]}
        if table in AT_ONCE and (gone := sorted(files[RUNS].keys() - there.keys())):
            raise ReadError(f"{shown(store)}/{table}/{gone[0]}: is gone, and its rows with it. {_remedy(store)}")
        if there:
            connection.execute(f"CREATE VIEW {table} AS {_view(table, there, twice)}")


def _added_twice(connection: duckdb.DuckDBPyConnection, files: Mapping[str, str]) -> dict[str, list[str]]:
    """List the runs that an earlier batch has as well, by batch: two writers may have added them at the same time.

    :param files: the table of runs of each batch.
    """
    rows = connection.execute(
        f"SELECT run, list_sort(list(filename)) FROM read_parquet({_list(files.values())}, filename = true)"
        " GROUP BY run HAVING count(*) > 1"
    ).fetchall()
    batch_of = {path: batch for batch, path in files.items()}
    twice: dict[str, list[str]] = defaultdict(list)
    for run, paths in rows:
        for path in paths[1:]:
            twice[batch_of[path]].append(run)
    return twice


def _view(table: str, files: Mapping[str, str], twice: Mapping[str, list[str]]) -> str:
    """Write the SELECT of a table.

    :param files: its file of each batch.
    :param twice: as `_added_twice` has it.
    """
    if table == "machines":
        return f"SELECT DISTINCT * EXCLUDE (day) FROM {_read(files.values())}"
    once = [path for batch, path in files.items() if batch not in twice]
    parts = [f"SELECT * FROM {_read(once)}"] if once else []
    parts += [
        f"SELECT * FROM {_read([files[batch]])} WHERE run NOT IN {_list(runs)}"
        for batch, runs in twice.items()
        if batch in files
    ]
    return " UNION ALL BY NAME ".join(parts)


def _read(paths: Iterable[str]) -> str:
    return (
        f"read_parquet({_list(paths)}, union_by_name = true, hive_partitioning = true,"
        " hive_types = {'fingerprint': VARCHAR, 'day': DATE})"
    )


def _list(texts: Iterable[str]) -> str:
    quoted = ("'" + text.replace("'", "''") + "'" for text in texts)
    return f"[{', '.join(quoted)}]"


def _plain(value: Any) -> Any:
    """Make a plain JSON value of what DuckDB gives."""
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.hex()
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
    return value


_BY_NAME: dict[str, Column[Any]] = {column.name: column for column in CASE_COLUMNS}


def _column(place: int, field: pa.Field) -> Column[Any]:
    """Where space is short, the last one gives way first."""
    dtype = _dtype(field.type)
    known = _BY_NAME.get(field.name)
    if known is not None and known.dtype == dtype and dtype in ("Float64", "Int64", "boolean"):
        return replace(known, get=itemgetter(place), drop=place)
    is_number = dtype in ("Float64", "Int64")
    unit = unit_of(field.name) if is_number else None
    return Column(
        name=field.name,
        title=field.name,
        get=itemgetter(place),
        show=partial(_shown, unit) if unit or dtype == "Float64" else str,
        right=is_number,
        drop=place,
        dtype=dtype,
    )


def _shown(unit: str | None, value: float) -> str:
    if unit is None:
        return significant(value, 4)
    return percent(value) if unit == "1" else scaled(value, unit)


def _dtype(kind: pa.DataType) -> Dtype | Literal[""]:
    import pyarrow.types as types

    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0):
        return "Int64"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "Float64"
    return PANDAS_TIME if types.is_timestamp(kind) else ""
