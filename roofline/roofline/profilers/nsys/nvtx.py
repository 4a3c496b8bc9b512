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

from roofline.profilers.nsys.sqlite_file import (
    KERNELS,
    LAST_NS,
    PROCESS_MASK,
    PROCESS_SHIFT,
    UNKNOWN,
    USABLE,
    Activities,
    Database,
)
from roofline.profilers.timeline import NS_PER_S, OK, RangeRow, Section, Style, durations, with_faults

if TYPE_CHECKING:
    import pandas as pd
    from numpy import float64, int64
    from numpy.typing import NDArray

RANGES = "NVTX_EVENTS"

_STYLES: Mapping[int, Style] = {59: "PushPop", 60: "StartEnd", 70: "PushPop", 71: "StartEnd"}
"""By ``eventType`` (the table ENUM_NSYS_EVENT_TYPE): ranges of NVTX, and those that nsys read from text files."""

_DOMAIN = 75
"""``eventType`` of the row that has a domain's name."""

_KIND = "CAST(eventType AS NUMERIC)"
"""A column of texts, as other programs that rewrite an export make it, has the same numbers."""

_KIND_IS_NUMBER = f"COALESCE({_KIND} = eventType, FALSE)"
"""Of a text that merely begins with a number SQLite's CAST takes that, and of any other 0."""

_IS_RANGE = f"({_KIND_IS_NUMBER} AND {_KIND} IN ({', '.join(map(str, _STYLES))}))"

_NO_DOMAINS = f"{RANGES} has no column domainId: ranges of different domains can't be distinguished"
_NONE = (
    "no NVTX range was recorded. Profile a program that marks some (torch.cuda.nvtx.range_push) with --trace=cuda,nvtx."
)

_Key = tuple[str, Style, str | None]
"""Name, style and domain: what ranges have in common that are summed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranges:
    """Usable ranges, a row each: the index of what it is in ``keys``, its thread (`UNKNOWN`), start and end in ns."""

    keys: Sequence[_Key]
    rows: pd.DataFrame
    nameless: int


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
    lost = _lost(database, len(ranges.rows))
    if not len(ranges.rows):
        return (), Section(state="failed", reason="; ".join(lost)) if lost else Section(state="skipped", reason=_NONE)
    launched = launches(database, kernels)
    nameless = [f"ranges without a name: {ranges.nameless}"] if ranges.nameless else []
    alike = [] if database.has(RANGES, "domainId") else [_NO_DOMAINS]
    faults = [*lost, *nameless, *alike, *_without_kernels(ranges, launched, graphs)]
    return _rows(ranges, launched), with_faults(OK, faults)


def _read(database: Database) -> _Ranges:
    import pandas as pd

    texts = database.texts(RANGES, "textId")
    domains = _domains(database, texts)
    optional = ", ".join(_column(database, name) for name in ("text", "textId", "globalTid", "domainId"))
    query = f'SELECT start, "end", {_KIND}, {optional} FROM {RANGES} WHERE {_IS_RANGE} AND {USABLE}'
    known: dict[_Key, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    nameless = 0
    for start, end, kind, text, number, own, domain in database.connection.execute(query):
        thread = own if isinstance(own, int) else UNKNOWN
        name = texts.get(number, text)
        nameless += name is None
        if name is None:
            name = "(no name)" if number is None else f"(string {number})"
        key = (str(name), _STYLES[kind], _domain(domains, _process(thread), domain))
        rows.append((known.setdefault(key, len(known)), thread, start, end))
    frame = pd.DataFrame(rows, columns=["which", "thread", "start", "end"], dtype="int64")
    return _Ranges(keys=list(known), rows=frame, nameless=nameless)


def _column(database: Database, name: str) -> str:
    return f'"{name}"' if database.has(RANGES, name) else "NULL"


def _domains(database: Database, texts: Mapping[int, str]) -> dict[tuple[int, object], str]:
    """Names of domains, by process and number. Without a number which is whose isn't known."""
    found: dict[tuple[int, object], str] = {}
    if not database.has(RANGES, "domainId"):
        return found
    optional = ", ".join(_column(database, name) for name in ("text", "textId", "globalTid", "domainId"))
    query = f"SELECT {optional} FROM {RANGES} WHERE {_KIND_IS_NUMBER} AND {_KIND} = {_DOMAIN} ORDER BY start"
    for text, number, thread, domain in database.rows(query):
        name = texts.get(number, text)
        if name is not None and isinstance(thread, int) and domain is not None:
            found.setdefault((_process(thread), domain), str(name))
    return found


def _process(thread: Any) -> Any:
    """Of the global id of a thread, or of many."""
    return thread // 2**PROCESS_SHIFT % (PROCESS_MASK + 1)


def _domain(domains: Mapping[tuple[int, object], str], process: int, number: object) -> str | None:
    """None for the default one, whose number is 0, and which nobody creates."""
    name = domains.get((process, number))
    return name if name is not None or number in (None, 0) else f"domain {number}"


def _lost(database: Database, usable: int) -> list[str]:
    """Which ranges are left out, and why."""
    (total,) = database.rows(f"SELECT COUNT(*) FROM {RANGES} WHERE {_IS_RANGE}")[0]
    (unfinished,) = database.rows(f'SELECT COUNT(*) FROM {RANGES} WHERE {_IS_RANGE} AND "end" IS NULL')[0]
    (unknown,) = database.rows(f"SELECT COUNT(*) FROM {RANGES} WHERE NOT {_KIND_IS_NUMBER}")[0]
    broken = total - usable - unfinished
    reasons = []
    if unfinished:
        reasons.append(
            f"{unfinished} of {total} ranges left out: still open when the recording ended. nsys stats counts them up"
            " to its last event"
        )
    if broken:
        reasons.append(f"{broken} of {total} ranges left out: without a start and an end after it, a range has no time")
    if unknown:
        reasons.append(
            f"{unknown} rows of {RANGES} left out: their eventType is no number, so nobody knows if they are ranges"
        )
    return reasons


def _without_kernels(ranges: _Ranges, launched: Launches, graphs: int) -> list[str]:
    """Why ranges have no kernels, or not all of theirs."""
    if launched.lacks is not None:
        return [f"no kernels of ranges: {launched.lacks}"]
    known = int((ranges.rows["thread"] != UNKNOWN).sum())
    unknown = len(ranges.rows) - known
    kernels = launched.lost + len(launched.rows)
    return [
        *([f"no kernels of {unknown} of {known + unknown} ranges: their thread isn't recorded"] if unknown else []),
        *(
            [f"{launched.lost} of {kernels} kernels are in no range: the export lacks the calls that launched them"]
            if launched.lost
            else []
        ),
        *([f"the kernels of graphs that were recorded whole ({graphs}) are in no range"] if graphs else []),
    ]


def _rows(ranges: _Ranges, launched: Launches) -> tuple[RangeRow, ...]:
    lengths = ranges.rows["end"] - ranges.rows["start"]
    # A sum over some of the ranges would look like that of all.
    unknown = {*ranges.rows["which"][ranges.rows["thread"] == UNKNOWN]}
    spans = dict(iter(ranges.rows.groupby("which")))
    calls = {owner: _calls_by(owner, launched.rows) for owner in ("thread", "process")}
    rows = []
    for own, one in durations(ranges.rows["which"].to_numpy(), lengths.to_numpy()):
        name, style, domain = ranges.keys[own]
        figures: dict[str, Any] = {}
        if launched.lacks is None and own not in unknown:
            threads = spans[own]["thread"]
            for prefix, owner, owners in (("", "thread", threads), ("process_", "process", _process(threads))):
                number, seconds = _launched_within(spans[own], owners, calls[owner])
                figures |= {f"{prefix}kernels": number, f"{prefix}kernel_s": seconds}
        rows.append(RangeRow(name=name, style=style, domain=domain, **one, **figures))
    return tuple(sorted(rows, key=lambda row: (-row.total_s, row.name, row.style, row.domain or "")))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Launches:
    """A row for each kernel whose launching call is in the export: its duration, and thread and start of the call.

    ``lost`` other kernels have no such call. ``lacks`` says why there is none at all.
    """

    rows: pd.DataFrame
    lost: int = 0
    lacks: str | None = None


def launches(database: Database, kernels: Activities) -> Launches:
    """:param kernels: of the same export."""
    import pandas as pd

    nothing = pd.DataFrame(columns=["start", "thread", "process", "duration"], dtype="int64")
    if (lacks := _no_launches(database, kernels)) is not None:
        return Launches(rows=nothing, lost=len(kernels), lacks=lacks)
    query = (
        f"SELECT correlationId, globalTid, start FROM {CALLS} WHERE typeof(correlationId) = 'integer'"
        f" AND correlationId <> {UNKNOWN}"  # else it would be the call of every kernel whose call isn't known
        f" AND typeof(globalTid) = 'integer' AND typeof(start) = 'integer' AND start BETWEEN {-LAST_NS} AND {LAST_NS}"
        f" AND correlationId IN (SELECT correlationId FROM {KERNELS})"
    )
    calls = pd.DataFrame(database.rows(query), columns=["correlation", "thread", "start"], dtype="int64")
    calls["process"] = _process(calls["thread"])
    # Each process has numbers of its own, so a call is known by both.
    known = ["process", "correlation"]
    calls = calls.sort_values("start", kind="stable").drop_duplicates(known)
    own = kernels.rows[known].assign(duration=kernels.rows["end"] - kernels.rows["start"])
    found = own.merge(calls, on=known)
    if found.empty:
        lacks = f"none of the {len(kernels)} kernels was launched by a call in {CALLS}"
    return Launches(rows=found, lost=len(kernels) - len(found), lacks=lacks)


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


_Calls = Mapping[int, "tuple[NDArray[int64], NDArray[float64]]"]
"""By thread or process, the starts of the calls that launch its kernels, in order, and the time in ns of those before.
"""


def _calls_by(owner: str, launched: pd.DataFrame) -> _Calls:
    """:param owner: ``thread`` or ``process``."""
    import numpy as np

    groups: Any = launched.sort_values("start").groupby(owner)
    return {
        own: (rows["start"].to_numpy(), np.append(0.0, rows["duration"].astype(float).cumsum())) for own, rows in groups
    }


def _launched_within(spans: pd.DataFrame, owners: pd.Series[int], calls: _Calls) -> tuple[int, float]:
    """Number and time in seconds of the kernels launched in spans of one name; a kernel counts once.

    :param spans: with ``start`` and ``end`` in ns. What was launched at the end is no longer in it.
    :param owners: of the same spans, the threads or processes whose launches count.
    """
    import numpy as np

    number, time_ns = 0, 0.0
    for own, rows in spans.groupby(owners):
        if own not in calls:
            continue
        starts, before = calls[own]
        ordered = rows.sort_values("start")
        # What an earlier span reaches to counts there: spans of one name may lie inside of each other.
        reached = np.maximum.accumulate(ordered["end"].to_numpy())
        begin = np.minimum(np.maximum(ordered["start"].to_numpy(), np.append(-LAST_NS, reached[:-1])), reached)
        low, high = np.searchsorted(starts, begin), np.searchsorted(starts, reached)
        number, time_ns = number + int((high - low).sum()), time_ns + float((before[high] - before[low]).sum())
    return number, time_ns / NS_PER_S
