"""Which thread launched a kernel of an nsys export, and when: a kernel's row has the number of the call that did.

Of a graph all kernels have the number of its launch. A call may stand in several rows of the table of calls, one for
each interface that it went through and one for its backtrace: the first of them is where it began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.profilers.busy import NS_PER_S
from roofline.profilers.nsys.activities import KERNELS, LAST_NS, PROCESS_MASK, PROCESS_SHIFT, Activities
from roofline.profilers.nsys.database import Database
from roofline.profilers.nsys.devices import NOT_TOLD

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
"""Calls of the CUDA runtime and of the driver alike."""

_FIELDS = ("start", "thread", "duration")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launches:
    """Of each kernel whose launching call is in the export: when and by which thread, and how long the kernel ran.

    ``lost`` other kernels have no such call. ``lacks`` says why there is none at all.
    """

    columns: NDArray[Any]
    lost: int = 0
    lacks: str | None = None

    def of(self, field: str) -> NDArray[int64]:
        column: NDArray[int64] = self.columns[field]
        return column


def launches(database: Database, kernels: Activities) -> Launches:
    """:param kernels: of the same export."""
    import numpy as np

    nothing = np.empty(0, [(field, np.int64) for field in _FIELDS])
    if (lacks := _lacks(database, kernels)) is not None:
        return Launches(columns=nothing, lost=len(kernels), lacks=lacks)
    query = (
        f"SELECT correlationId, globalTid, start FROM {CALLS} WHERE typeof(correlationId) = 'integer'"
        f" AND correlationId <> {NOT_TOLD}"  # else it would be the call of every kernel whose call isn't told
        f" AND typeof(globalTid) = 'integer' AND typeof(start) = 'integer' AND start BETWEEN {-LAST_NS} AND {LAST_NS}"
        f" AND correlationId IN (SELECT correlationId FROM {KERNELS})"
    )
    layout = np.dtype([(field, np.int64) for field in ("correlation", "thread", "start")])
    calls = np.fromiter(database.connection.execute(query), layout)
    # Each process has numbers of its own, so a call is known by both.
    numbers, place = np.unique(np.concatenate([calls["correlation"], kernels.of("correlation")]), return_inverse=True)
    process = np.concatenate([calls["thread"] >> PROCESS_SHIFT & PROCESS_MASK, kernels.of("process")])
    known, wanted = np.split(process * len(numbers) + place, [len(calls)])
    order = np.lexsort((calls["start"], known))
    calls, known = calls[order], known[order]
    first = np.searchsorted(known, wanted)
    found = np.flatnonzero(np.append(known, np.iinfo(np.int64).min)[first] == wanted)
    if not len(found):
        lacks = f"none of the {len(kernels)} kernels was launched by a call in {CALLS}"
        return Launches(columns=nothing, lost=len(kernels), lacks=lacks)
    columns = np.empty(len(found), nothing.dtype)
    columns["start"] = calls["start"][first[found]]
    columns["thread"] = calls["thread"][first[found]]
    columns["duration"] = (kernels.of("end") - kernels.of("start"))[found]
    return Launches(columns=columns, lost=len(kernels) - len(found))


def _lacks(database: Database, kernels: Activities) -> str | None:
    if not len(kernels):
        return "no kernel with a time was recorded"
    if not database.has(CALLS):
        return f"the export has no table {CALLS}, by which a kernel's launch is found"
    needed = ((CALLS, "start"), (CALLS, "globalTid"), (CALLS, "correlationId"), (KERNELS, "correlationId"))
    for table, column in needed:
        if not database.has(table, column):
            return f"{table} has no column {column}, by which a kernel's launch is found"
    return None


def launched_within(
    spans: NDArray[Any], groups: int, launched: Launches, *, by_process: bool
) -> tuple[NDArray[int64], NDArray[float64]]:
    """Number and time in seconds of the kernels launched in the spans of each group; in one group a kernel counts once.

    :param spans: n of them, with the fields ``which`` (the group, from 0), ``thread``, and ``start`` and ``end`` in ns.
        What was launched at the end is no longer in the span.
    :param groups: g, the number of groups.
    :param by_process: launches of all threads of the process count, not of the span's thread alone.
    :returns: both of g.
    """
    import numpy as np

    which, count = spans["which"].astype(np.int64), len(spans)
    moments = np.concatenate([spans["start"], spans["end"], launched.of("start")])
    owner = np.concatenate([spans["thread"], launched.of("thread")])
    if by_process:
        owner = owner >> PROCESS_SHIFT & PROCESS_MASK
    # Moments and owners stand for themselves by their ranks, so that one number holds a moment and whose it is.
    times, place = np.unique(moments, return_inverse=True)
    begin, finish, at = np.split(place.astype(np.int64), [count, 2 * count])
    own, by = np.split(np.unique(owner, return_inverse=True)[1].astype(np.int64), [count])
    room = len(times)
    order = np.lexsort((begin, own, which))
    which, own, begin, finish = which[order], own[order], begin[order], finish[order]
    part = np.cumsum((np.diff(which, prepend=which[:1]) != 0) | (np.diff(own, prepend=own[:1]) != 0)) * room
    # Where an earlier span of the group reaches to counts there: spans of one name may lie inside of each other.
    reached = np.maximum.accumulate(part + finish)
    begin = np.minimum(np.maximum(begin, np.append(0, reached[:-1]) - part), finish)
    order = np.argsort(by * room + at, kind="stable")
    keys = (by * room + at)[order]
    before = np.append(0.0, np.cumsum(launched.of("duration")[order], dtype=float))
    low, high = np.searchsorted(keys, own * room + begin), np.searchsorted(keys, own * room + finish)
    kernels, seconds = np.zeros(groups, np.int64), np.zeros(groups)
    np.add.at(kernels, which, high - low)
    np.add.at(seconds, which, (before[high] - before[low]) / NS_PER_S)
    return kernels, seconds
