"""A table for a program: as a pandas frame, and through it as CSV and Parquet; and as JSON.

All have the same columns and values. JSON is made without pandas, which takes longer to load than most commands run:
the values of the columns are plain JSON values already, in which a list stays a list.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from roofline.schema.record_json import strict
from roofline.show.tables import Column, Dtype, Follow, Table, plain_value
from roofline.text.printable import spreadsheet_text
from roofline.text.units import unit_of

if TYPE_CHECKING:
    import pandas as pd

PANDAS_TIME: Dtype = "datetime64[us, UTC]"


class LacksPyarrow(Exception):
    """Parquet can't be written: the package for it isn't installed. The message says how to install it."""


def json_text(document: Any) -> str:
    """Write strict JSON, which a terminal shows as it is: what isn't ASCII is escaped.

    :raises ValueError: a number in it is not finite.
    """
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def json_of(table: Table[Any]) -> str:
    """Write the rows as a list of records, as ``pandas.read_json`` reads them."""
    return json_text([{column.name: plain_value(column, row) for column in table.columns} for row in table.rows])


def csv_of(table: Table[Any]) -> str:
    """Write the rows as CSV: nothing that a spreadsheet or a terminal would run, and times as they were recorded."""
    columns = [replace(one, dtype="string") if one.dtype == PANDAS_TIME else one for one in table.columns]
    made = frame(columns, table.rows)
    for name, values in made.items():
        if values.dtype == "boolean":
            made[name] = values.map({True: "true", False: "false"})
        elif values.dtype in ("string", "category"):
            made[name] = values.astype("string").map(spreadsheet_text, na_action="ignore")
    return made.to_csv(index=False, lineterminator="\n")


def as_parquet(made: pd.DataFrame) -> bytes:
    """Write a frame, with its ``attrs``, as Parquet.

    :raises LacksPyarrow: pyarrow isn't installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise LacksPyarrow("Parquet needs pyarrow: pip install 'pytest-roofline[store]'") from error
    # pandas' own function copies the attributes for each column, and then for all.
    bare = made.copy(deep=False)
    bare.attrs = {}
    table = pa.Table.from_pandas(bare, preserve_index=False)
    attributes = {"PANDAS_ATTRS": json.dumps(made.attrs)} if made.attrs else {}
    numbers = [str(name) for name, dtype in made.dtypes.items() if dtype == "Float64"]
    out = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(table.schema.metadata | attributes),
        out,
        compression="zstd",
        compression_level=9,
        # Few numbers of measurements are equal, but their first bytes are.
        column_encoding=dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"),
        use_dictionary=[name for name in table.column_names if name not in numbers],
    )
    return out.getvalue()


def frame_of(table: Table[Any]) -> pd.DataFrame:
    """Make the frame of a table: its columns and rows, with its title and notes in ``attrs``."""
    made = frame(table.columns, table.rows)
    made.attrs |= {"title": table.title, "notes": [*table.notes]}
    return made


def frame(columns: Sequence[Column[Any]], rows: Sequence[Any]) -> pd.DataFrame:
    """Make a frame of columns, each with the dtype it has, else with that of its values."""
    known: dict[str, list[Any]] = {}
    return frame_of_values((column.name, _flat_values(column, rows, known), column.dtype) for column in columns)


def frame_of_values(columns: Iterable[tuple[str, list[Any], Dtype | Literal[""]]]) -> pd.DataFrame:
    """Make a frame of columns: the name, the values and their dtype. ``attrs["units"]`` has the units of numbers.

    :param columns: from a generator, which makes one after the other: the values of all columns of a million rows take
        more room than the frame.
    """
    import pandas as pd

    made = pd.DataFrame({name: _array(values, dtype, name) for name, values, dtype in columns}, copy=False)
    made.attrs["units"] = {
        name: unit
        for name, dtype in made.dtypes.items()
        if dtype in ("Float64", "Int64") and (unit := unit_of(str(name))) is not None
    }
    return made


def _flat_values(column: Column[Any], rows: Sequence[Any], known: dict[str, list[Any]]) -> list[Any]:
    """As `flat` and `plain_value` make each, and many times as quickly where all are plain.

    :param known: as of `Follow.of_all`.
    """
    get = column.get
    values = get.of_all(rows, known) if isinstance(get, Follow) else list(map(get, rows))
    kinds = {*map(type, values)}
    if not kinds <= _FLAT:
        return [flat(strict(value)) for value in values]
    if float not in kinds:
        return values
    return [None if type(value) is float and not math.isfinite(value) else value for value in values]


_FLAT = frozenset({str, int, float, bool, type(None)})


def flat(value: Any) -> Any:
    """Make one value of a list, its items separated by ``"; "`` or ``none``, and JSON of a mapping."""
    if type(value) in _FLAT:
        return value
    if isinstance(value, list | tuple):
        # Without an item not "": CSV has that for what is missing.
        return "; ".join(map(str, value)) or "none"
    return json.dumps(value) if isinstance(value, dict) else value


def _array(values: list[Any], dtype: str, name: str = "") -> pd.api.extensions.ExtensionArray:
    """Make the values of a frame's column: of the dtype, else of that of the values, or of the unit in its name."""
    import numpy as np
    import pandas as pd

    kind = dtype or _dtype_of(values) or ("string" if unit_of(name) is None else "Float64")
    if kind == PANDAS_TIME:
        times = pd.to_datetime(pd.Series(values, dtype="string"), utc=True, format="ISO8601", errors="coerce")
        return times.astype(PANDAS_TIME).array
    if kind == "string":
        return pd.array([None if value is None else str(value) for value in values], dtype="string")
    if kind == "category":
        # Categories stand in the order of their first appearance.
        names: dict[str, int] = {}
        codes = [-1 if value is None else names.setdefault(str(value), len(names)) for value in values]
        # The smallest integers that pandas takes for so many.
        small = np.array(codes, dtype=np.min_scalar_type(-2 - len(names)))
        return pd.Categorical.from_codes(small, categories=pd.Index([*names], dtype="str"))
    kinds = {*map(type, values)} - {type(None)}
    try:  # pandas makes the same in several times as long
        if kind == "Float64" and kinds <= {float, int}:
            numbers = np.array(values, dtype=float)
            return pd.arrays.FloatingArray(numbers, np.isnan(numbers))
        if kind == "Int64" and kinds <= {int}:
            whole = np.array([0 if value is None else value for value in values], dtype=np.int64)
            return pd.arrays.IntegerArray(whole, np.array([value is None for value in values], dtype=bool))
        made: pd.api.extensions.ExtensionArray = pd.Series(values, dtype=kind).array
        return made
    except (TypeError, ValueError, OverflowError):  # of a file in which somebody wrote something else
        return _array(values, "string")


def _dtype_of(values: Iterable[Any]) -> Dtype | Literal[""]:
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return ""
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "Float64" if kinds <= {int, float} else "string"
