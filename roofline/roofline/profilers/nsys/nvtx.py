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
from typing import TYPE_CHECKING, Any

from roofline.profilers.nsys.sqlite_file import CALLS, KERNELS, PROCESS_MASK, PROCESS_SHIFT, UNKNOWN, Database
from roofline.profilers.timeline import NS_PER_S, OK, RangeRow, Section, Style, durations, with_faults

if TYPE_CHECKING:
    import pandas as pd
    from numpy import float64, int64
    from numpy.typing import NDArray

_RANGES = "NVTX_EVENTS"

_STYLES: Mapping[int, Style] = {59: "PushPop", 60: "StartEnd", 70: "PushPop", 71: "StartEnd"}
"""By ``eventType`` (the table ENUM_NSYS_EVENT_TYPE): ranges of NVTX, and those that nsys read from text files."""

_DOMAIN = 75
"""``eventType`` of the row that has a domain's name."""

_NONE = (
    "no NVTX range was recorded. Profile a program that marks some (torch.cuda.nvtx.range_push) with --trace=cuda,nvtx."
)

_Key = tuple[str, Style, str | None]
"""Name, style and domain: what ranges have in common that are summed up."""


def range_rows(database: Database, kernels: pd.DataFrame, graphs: int) -> tuple[tuple[RangeRow, ...], Section]:
    """A row a name, style and domain, longest total first.

    :param kernels: of the same export.
    :param graphs: number of those that were recorded whole, whose kernels are in no row.
    """
    keys, ranges, unfinished = _read(database) if database.has(_RANGES) else ([], None, 0)
    if ranges is None or not len(ranges) + unfinished:
        return (), Section(state="skipped", reason=_NONE)
    of_all = f"{unfinished} of {len(ranges) + unfinished} ranges left out"
    open_ranges = f"{of_all}: still open when the recording ended. nsys stats counts them up to its last event"
    if not len(ranges):
        return (), Section(state="failed", reason=open_ranges)
    found = launches(database, kernels)
    launched = None if isinstance(found, str) else found
    faults = [open_ranges] if unfinished else []
    if launched is None:
        faults.append(f"no kernels of ranges: {found}")
    elif lost := len(kernels) - len(launched):
        faults.append(
            f"{lost} of {len(kernels)} kernels are in no range: the export lacks the calls that launched them"
        )
    if unknown := int((ranges["thread"] == UNKNOWN).sum()):
        faults.append(f"no kernels of {unknown} of {len(ranges)} ranges: their thread isn't recorded")
    if graphs:
        faults.append(f"the kernels of graphs that were recorded whole ({graphs}) are in no range")
    return _rows(keys, ranges, launched), with_faults(OK, faults)


def _read(database: Database) -> tuple[list[_Key], pd.DataFrame, int]:
    """Read what ranges are, those that were closed (the index of what it is, thread, start and end in ns), and how many
    weren't.
    """
    import pandas as pd

    texts = database.texts(_RANGES, "textId")
    domains = _domains(database, texts)
    thread_or_none = f"COALESCE(globalTid, {UNKNOWN})"
    query = f'SELECT start, "end", eventType, text, textId, {thread_or_none}, domainId FROM {_RANGES}'
    known: dict[_Key, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    unfinished = 0
    for start, end, kind, text, number, thread, domain in database.connection.execute(
        f"{query} WHERE eventType IN ({', '.join(map(str, _STYLES))})"
    ):
        if end is None:
            unfinished += 1
            continue
        name = texts.get(number, text)
        if name is None:
            name = "(no name)" if number is None else f"(string {number})"
        # The default domain has the number 0, and nobody creates it.
        of = domains.get((_process(thread), domain), f"domain {domain}") if domain else None
        key = (str(name), _STYLES[kind], of)
        rows.append((known.setdefault(key, len(known)), thread, start, end))
    return list(known), pd.DataFrame(rows, columns=["which", "thread", "start", "end"], dtype="int64"), unfinished


def _domains(database: Database, texts: Mapping[int, str]) -> dict[tuple[int, int], str]:
    """Names of domains, by process and number."""
    query = f"SELECT text, textId, globalTid, domainId FROM {_RANGES} WHERE eventType = {_DOMAIN}"
    found: dict[tuple[int, int], str] = {}
    for text, number, thread, domain in database.rows(f"{query} AND globalTid IS NOT NULL ORDER BY start"):
        name = texts.get(number, text)
        if name is not None:
            found.setdefault((_process(thread), domain), str(name))
    return found


def _process(thread: Any) -> Any:
    """Of the global id of a thread, or of many."""
    return thread // 2**PROCESS_SHIFT % (PROCESS_MASK + 1)


def _rows(keys: Sequence[_Key], ranges: pd.DataFrame, launched: pd.DataFrame | None) -> tuple[RangeRow, ...]:
    """:param launched: as of `launches`; None: not known."""
    # A sum over some of the ranges would look like that of all.
    unknown = {*ranges["which"][ranges["thread"] == UNKNOWN]}
    spans = dict(iter(ranges.groupby("which")))
    calls = {} if launched is None else {owner: _calls_by(owner, launched) for owner in ("thread", "process")}
    rows = []
    for own, one in durations(ranges["which"].to_numpy(), (ranges["end"] - ranges["start"]).to_numpy()):
        name, style, domain = keys[own]
        figures: dict[str, Any] = {}
        threads = spans[own]["thread"]
        for prefix, owner, owners in (("", "thread", threads), ("process_", "process", _process(threads))):
            if owner in calls and own not in unknown:
                number, seconds = _launched_within(spans[own], owners, calls[owner])
                figures |= {f"{prefix}kernels": number, f"{prefix}kernel_s": seconds}
        rows.append(RangeRow(name=name, style=style, domain=domain, **one, **figures))
    return tuple(sorted(rows, key=lambda row: (-row.total_s, row.name, row.style, row.domain or "")))


def about_ranges(rows: Sequence[RangeRow]) -> list[str]:
    """Give what a reader of the kernels of ranges must know."""
    if all(row.kernels == row.process_kernels for row in rows):
        return []
    return [
        "NVTX: kernels that other threads of the process launched while a range was open are in the figures of all"
        " threads alone (process_kernel_s). torch launches those of a backward pass from a thread of its own."
    ]


def launches(database: Database, kernels: pd.DataFrame) -> pd.DataFrame | str:
    """A row for each kernel whose launching call is in the export: its duration, and thread and start of the call; or
    why there is none.

    :param kernels: of the same export.
    """
    if not len(kernels):
        return "no kernel was recorded"
    if not database.has(CALLS):
        return f"the export has no table {CALLS}, by which a kernel's launch is found"
    calls = database.numbers(
        ("correlation", "thread", "start"),
        f"SELECT correlationId, globalTid, start FROM {CALLS}"
        f" WHERE correlationId IN (SELECT correlationId FROM {KERNELS}) AND correlationId >= 0"
        " AND globalTid IS NOT NULL",
    )
    calls["process"] = _process(calls["thread"])
    # Each process has numbers of its own, so a call is known by both.
    known = ["process", "correlation"]
    calls = calls.sort_values("start", kind="stable").drop_duplicates(known)
    own = kernels[known].assign(duration=kernels["end"] - kernels["start"])
    found = own.merge(calls, on=known)
    return f"none of the {len(kernels)} kernels was launched by a call in {CALLS}" if found.empty else found


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
        begin = np.minimum(np.maximum(ordered["start"].to_numpy(), np.append(starts[0], reached[:-1])), reached)
        low, high = np.searchsorted(starts, begin), np.searchsorted(starts, reached)
        number, time_ns = number + int((high - low).sum()), time_ns + float((before[high] - before[low]).sum())
    return number, time_ns / NS_PER_S
