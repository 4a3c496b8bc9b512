"""NVTX ranges of an nsys export: how long each was open, and what the kernels took that were launched in it.

Figures and their meaning are those of nsys's own reports ``nvtx_sum`` and ``nvtx_kern_sum`` (Nsight Systems, Analysis
Guide, "Statistical Reports Shipped With Nsight Systems"): a kernel is in a range if the call that launched it is, not
if it happens to run meanwhile, for a GPU lags behind its host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.profilers.nsys.activities import PROCESS_MASK, PROCESS_SHIFT, USABLE, Activities
from roofline.profilers.nsys.database import Database
from roofline.profilers.nsys.devices import NOT_TOLD
from roofline.profilers.nsys.launches import Launches, launched_within, launches
from roofline.profilers.timeline import OK, RangeRow, Section, Style, durations, with_faults

if TYPE_CHECKING:
    from numpy import bool_, int64
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
    for own, one in durations(ranges.of("which"), ranges.of("end") - ranges.of("start")).items():
        name, style, domain = ranges.keys[own]
        rows.append(
            RangeRow(
                name=name,
                style=style,
                domain=domain,
                instances=one.instances,
                total_s=one.total_s,
                avg_s=one.avg_s,
                med_s=one.med_s,
                min_s=one.min_s,
                max_s=one.max_s,
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
