"""NVTX ranges of an nsys export: how long each was open, and what the kernels took that were launched in it.

Figures and their meaning are those of nsys's own reports ``nvtx_sum`` and ``nvtx_kern_sum`` (Nsight Systems, Analysis
Guide, "Statistical Reports Shipped With Nsight Systems"): a kernel is in a range if the call that launched it is, not
if it happens to run meanwhile, for a GPU lags behind its host.

A kernel's row has the number of the call that launched it; of a graph all kernels have the number of its launch. A call
may stand in several rows of the table of calls, one for each interface that it went through and one for its backtrace:
the first of them is where it began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.profilers.nsys.database import (
    KERNELS,
    LAST_NS,
    NOT_TOLD,
    PROCESS_MASK,
    PROCESS_SHIFT,
    USABLE,
    Activities,
    Database,
)
from roofline.profilers.timeline import NS_PER_S, OK, RangeRow, Section, Style, durations, with_faults

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

RANGES = "NVTX_EVENTS"

_STYLES: Mapping[int, Style] = {59: "PushPop", 60: "StartEnd", 70: "PushPop", 71: "StartEnd"}
"""By ``eventType`` (the table ENUM_NSYS_EVENT_TYPE): ranges of NVTX, and those that nsys read from text files."""

_DOMAIN = 75
"""``eventType`` of the row that has a domain's name."""

_KIND = "CAST(eventType AS NUMERIC)"
"""A column of texts, as other programs that rewrite an export make it, has the same numbers."""

_KIND_IS_TOLD = f"COALESCE({_KIND} = eventType, FALSE)"
"""Of a text that merely begins with a number SQLite's CAST takes that, and of any other 0."""

_IS_RANGE = f"({_KIND_IS_TOLD} AND {_KIND} IN ({', '.join(map(str, _STYLES))}))"

_NO_DOMAINS = f"{RANGES} has no column domainId: ranges of different domains aren't told apart"
_NONE = (
    "no NVTX range was recorded. Profile a program that marks some (torch.cuda.nvtx.range_push) with --trace=cuda,nvtx."
)

_Key = tuple[str, Style, str | None]
"""Name, style and domain: what ranges have in common that are summed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranges:
    """n usable ranges: of each the index in ``keys``, its thread (`NOT_TOLD` where it isn't), start and end in ns."""

    keys: Sequence[_Key]
    columns: NDArray[Any]
    nameless: int

    def of(self, field: str) -> NDArray[int64]:
        column: NDArray[int64] = self.columns[field]
        return column


def range_rows(database: Database, kernels: Activities, graphs: int) -> tuple[tuple[RangeRow, ...], Section]:
    """A row a name, style and domain, longest total first.

    :param kernels: of the same export.
    :param graphs: number of those that were recorded whole, whose kernels are in no row.
    """
    if not database.has(RANGES):
        return (), Section(state="skipped", reason=_NONE)
    missing = [column for column in ("start", "end", "eventType") if not database.has(RANGES, column)]
    if not (database.has(RANGES, "text") or database.has(RANGES, "textId")):
        missing.append("text or textId")
    if missing:
        reason = f"{RANGES} has no column {', '.join(missing)}, by which this version reads a range"
        return (), Section(state="failed", reason=reason)
    ranges = _read(database)
    lost = _lost(database, len(ranges.columns))
    if not len(ranges.columns):
        return (), Section(state="failed", reason="; ".join(lost)) if lost else Section(state="skipped", reason=_NONE)
    launched = launches(database, kernels)
    nameless = [f"ranges without a name: {ranges.nameless}"] if ranges.nameless else []
    alike = [] if database.has(RANGES, "domainId") else [_NO_DOMAINS]
    faults = [*lost, *nameless, *alike, *_without_kernels(ranges, launched, graphs)]
    return _rows(ranges, launched), with_faults(OK, faults)


def _read(database: Database) -> _Ranges:
    import numpy as np

    texts = database.texts(RANGES, "textId")
    domains = _domains(database, texts)
    optional = ", ".join(_column(database, name) for name in ("text", "textId", "globalTid", "domainId"))
    query = f'SELECT start, "end", {_KIND}, {optional} FROM {RANGES} WHERE {_IS_RANGE} AND {USABLE}'
    known: dict[_Key, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    nameless = 0
    for start, end, kind, text, number, told, domain in database.connection.execute(query):
        thread = told if isinstance(told, int) else NOT_TOLD
        name = texts.get(number, text)
        nameless += name is None
        if name is None:
            name = "(no name)" if number is None else f"(string {number})"
        key = (str(name), _STYLES[kind], _domain(domains, _process(thread), domain))
        rows.append((known.setdefault(key, len(known)), thread, start, end))
    layout = np.dtype([(field, np.int64) for field in ("which", "thread", "start", "end")])
    return _Ranges(keys=list(known), columns=np.array(rows, layout), nameless=nameless)


def _column(database: Database, name: str) -> str:
    return f'"{name}"' if database.has(RANGES, name) else "NULL"


def _domains(database: Database, texts: Mapping[int, str]) -> dict[tuple[int, object], str]:
    """Names of domains, by process and number. Without a number which is whose isn't known."""
    found: dict[tuple[int, object], str] = {}
    if not database.has(RANGES, "domainId"):
        return found
    optional = ", ".join(_column(database, name) for name in ("text", "textId", "globalTid", "domainId"))
    query = f"SELECT {optional} FROM {RANGES} WHERE {_KIND_IS_TOLD} AND {_KIND} = {_DOMAIN} ORDER BY start"
    for text, number, thread, domain in database.rows(query):
        name = texts.get(number, text)
        if name is not None and isinstance(thread, int) and domain is not None:
            found.setdefault((_process(thread), domain), str(name))
    return found


def _process(thread: int) -> int:
    return thread >> PROCESS_SHIFT & PROCESS_MASK


def _domain(domains: Mapping[tuple[int, object], str], process: int, number: object) -> str | None:
    """None for the default one, whose number is 0, and which nobody creates."""
    name = domains.get((process, number))
    return name if name is not None or number in (None, 0) else f"domain {number}"


def _lost(database: Database, usable: int) -> list[str]:
    """Which ranges are left out, and why."""
    (total,) = database.rows(f"SELECT COUNT(*) FROM {RANGES} WHERE {_IS_RANGE}")[0]
    (unfinished,) = database.rows(f'SELECT COUNT(*) FROM {RANGES} WHERE {_IS_RANGE} AND "end" IS NULL')[0]
    (untold,) = database.rows(f"SELECT COUNT(*) FROM {RANGES} WHERE NOT {_KIND_IS_TOLD}")[0]
    broken = total - usable - unfinished
    reasons = []
    if unfinished:
        reasons.append(
            f"{unfinished} of {total} ranges left out: still open when the recording ended. nsys stats counts them up"
            " to its last event"
        )
    if broken:
        reasons.append(f"{broken} of {total} ranges left out: without a start and an end after it, a range has no time")
    if untold:
        reasons.append(
            f"{untold} rows of {RANGES} left out: their eventType is no number, so nobody knows if they are ranges"
        )
    return reasons


def _without_kernels(ranges: _Ranges, launched: Launches, graphs: int) -> list[str]:
    """Why ranges have no kernels, or not all of theirs."""
    if launched.lacks is not None:
        return [f"no kernels of ranges: {launched.lacks}"]
    told = int((ranges.of("thread") != NOT_TOLD).sum())
    untold = len(ranges.columns) - told
    kernels = launched.lost + len(launched.columns)
    return [
        *([f"no kernels of {untold} of {told + untold} ranges: their thread isn't told"] if untold else []),
        *(
            [f"{launched.lost} of {kernels} kernels are in no range: the export lacks the calls that launched them"]
            if launched.lost
            else []
        ),
        *([f"the kernels of graphs that were recorded whole ({graphs}) are in no range"] if graphs else []),
    ]


def _rows(ranges: _Ranges, launched: Launches) -> tuple[RangeRow, ...]:
    groups = len(ranges.keys)
    kernels, kernel_s = launched_within(ranges.columns, groups, launched, by_process=False)
    process_kernels, process_kernel_s = launched_within(ranges.columns, groups, launched, by_process=True)
    told = _told(ranges, launched)
    rows = []
    for own, one in durations(ranges.of("which"), ranges.of("end") - ranges.of("start")):
        name, style, domain = ranges.keys[own]
        rows.append(
            RangeRow(
                name=name,
                style=style,
                domain=domain,
                **one,
                kernels=int(kernels[own]) if told[own] else None,
                kernel_s=float(kernel_s[own]) if told[own] else None,
                process_kernels=int(process_kernels[own]) if told[own] else None,
                process_kernel_s=float(process_kernel_s[own]) if told[own] else None,
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.total_s, row.name, row.style, row.domain or "")))


def _told(ranges: _Ranges, launched: Launches) -> NDArray[bool_]:
    """Of each key, whether the kernels of all its ranges can be had: a sum over some would look like that of all."""
    import numpy as np

    told = np.full(len(ranges.keys), launched.lacks is None)
    told[ranges.of("which")[ranges.of("thread") == NOT_TOLD]] = False
    return told


def about_ranges(rows: Sequence[RangeRow]) -> list[str]:
    """What a reader of the kernels of ranges must know."""
    if all(row.kernels == row.process_kernels for row in rows):
        return []
    return [
        "NVTX: kernels that other threads of the process launched while a range was open are in the figures of all"
        " threads alone (process_kernel_s). torch launches those of a backward pass from a thread of its own."
    ]


CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
"""Calls of the CUDA runtime and of the driver alike."""

_LAUNCH_FIELDS = ("start", "thread", "duration")


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

    nothing = np.empty(0, [(field, np.int64) for field in _LAUNCH_FIELDS])
    if (lacks := _no_launches(database, kernels)) is not None:
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


def _no_launches(database: Database, kernels: Activities) -> str | None:
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
