"""What ran on GPUs according to an nsys export: launches, copies, fills and graphs, as columns of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.profilers.nsys.database import Database
from roofline.profilers.nsys.devices import NOT_TOLD
from roofline.profilers.timeline import MOST_BYTE

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

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

    ``what`` is the number of a name or of a direction, ``correlation`` that of the call that launched it. `NOT_TOLD`
    stands for what a row or the table doesn't have.
    ``lacks`` names a column without which nothing can be read; then all rows are lost.
    """

    columns: NDArray[Any]
    lost: int = 0
    lacks: str | None = None

    def __len__(self) -> int:
        return len(self.columns)

    def of(self, field: str) -> NDArray[int64]:
        column: NDArray[int64] = self.columns[field]
        return column


def activities(database: Database, table: str, what: str | None = None) -> Activities:
    """The rows of a table; none where it isn't there.

    :param what: the column to read as such.
    """
    import numpy as np

    layout = np.dtype([(field, np.int64) for field in _FIELDS])
    nothing = np.empty(0, layout)
    if not database.has(table):
        return Activities(columns=nothing)
    there = database.columns[table]
    for column in ("start", "end", *([what] if what else [])):
        if column not in there:
            return Activities(columns=nothing, lacks=column, lost=database.count(table))

    def number(column: str, show: str = '"{}"') -> str:
        return f"COALESCE(CAST({show.format(column)} AS INTEGER), {NOT_TOLD})" if column in there else str(NOT_TOLD)

    process = number("globalPid", f'("{{}}" >> {PROCESS_SHIFT} & {PROCESS_MASK})')
    stream = number("streamId")
    byte = f"CASE WHEN typeof(bytes) = 'integer' AND bytes BETWEEN 0 AND {MOST_BYTE} THEN bytes ELSE {NOT_TOLD} END"
    query = (
        f'SELECT start, "end", {number("deviceId")}, {process}, {stream}, {number(what) if what else NOT_TOLD},'
        f" {byte if 'bytes' in there else NOT_TOLD}, {number('correlationId')} FROM {table}"
    )
    rows = np.fromiter(database.connection.execute(f"{query} WHERE {USABLE}"), layout)
    return Activities(columns=rows, lost=database.count(table) - len(rows))
