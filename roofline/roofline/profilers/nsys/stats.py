"""Read what ``nsys stats`` prints: its summaries of kernels and of copies, as CSV, in columns or in boxes.

Tables, progress ("Processing [...]"), what was skipped and what went wrong stand in one stream. A table is known by its
header; each section ends up with a state of its own, so that a skipped one is never a time of 0.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from roofline.files.decoding import ReadError
from roofline.profilers.nsys.sqlite_file import EMPTY, HOW_TO_CAPTURE
from roofline.profilers.timeline import (
    OK,
    CopyRow,
    KernelRow,
    Section,
    Timeline,
    copies_first,
    direction,
    longest_first,
)
from roofline.text.units import scaled, some_of

Kind = Literal["kernels", "times", "sizes"]
Shape = Literal["csv", "box", "columns"]

_REPORTS: Mapping[str, Kind] = {
    "cuda_gpu_kern_sum": "kernels",
    "gpukernsum": "kernels",
    "cuda_gpu_mem_time_sum": "times",
    "gpumemtimesum": "times",
    "cuda_gpu_mem_size_sum": "sizes",
    "gpumemsizesum": "sizes",
}
"""nsys's names of the reports that are read: those of today, and those until 2022."""

HOW_TO = (
    "nsys stats --report cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum --format csv REPORT.nsys-rep"
)

_SAME = {
    "average": "avg",
    "median": "med",
    "minimum": "min",
    "maximum": "max",
    "operations": "count",
}
"""What columns were called until 2021, and are now."""

_NEEDED: Mapping[Kind, frozenset[str]] = {
    "kernels": frozenset({"time", "total time", "instances", "avg", "min", "max", "name"}),
    "times": frozenset({"time", "total time", "count", "avg", "min", "max", "operation"}),
    "sizes": frozenset({"total", "count", "avg", "min", "max", "operation"}),
}
_LATER = {"med", "stddev"}
"""A header is one of `_NEEDED`, with or without these, which early versions don't print, and has no other column."""

_SECONDS = {
    "ns": 1e-9,
    "nsec": 1e-9,
    "us": 1e-6,
    "\u00b5s": 1e-6,
    "\u03bcs": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
}
_BYTES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
"""Two copies of 4 MiB stand in nsys's table as 8.389 MB, so its MB is 10**6 byte."""

_REPORT = re.compile(
    r"^Processing \[.*\] with \[(?:.*[/\\])?(\w+)\.py|^(?:\*\*|#+) .*\((\w+)(?::\w+)*\):?$"
    r"|^\[\d+/\d+\] Executing '(?P<made>\w+)(?::\w+)*' stats report"
)
_TITLE = re.compile(r"^(?:\*\* |#+ )?CUDA .*(?:Statistics|Summary)\b.*:$")
_TITLE_UNIT = re.compile(r"by size in (\w+)", re.IGNORECASE)
_SKIPPED = re.compile(r"^SKIPPED\b:?\s*(.*)")
_FAILED = re.compile(r"^(?:(?:ERROR|FAILED|FATAL)\b.*|Traceback \(most recent call last\).*)")
_PROGRESS = re.compile(r"(?:Processing|Generating|Using|NOTICE|WARNING|Consider|It is assumed)\b|\[\d+/\d+\]")
_RULE = re.compile(r"[\s|+:=\u2500-\u257f-]+")
_NUMBER = re.compile(r"(?:\d{1,18}|\d{1,3}(?:,\d{3}){1,5})(?:\.\d{1,12})?", re.ASCII)
_COLUMN = re.compile(r"(?P<name>[^()]*?)\s*(?:\((?P<unit>[^()]*)\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    """``units`` and ``names`` are those of the columns, in order; the last is the name of what a row is about."""

    kind: Kind
    shape: Shape
    names: Sequence[str]
    units: Sequence[str | None]
    line: int


@dataclass(slots=True, kw_only=True)
class _Found:
    """What was found of one kind of table while going through the lines.

    ``begun`` is the line in which nsys says that it makes the table, as ``nsys profile --stats=true`` does, and
    ``ended`` whether it then went on. ``rounded`` tells of totals that are printed as 0 and aren't.
    """

    header: _Header | None = None
    rows: list[tuple[str, Mapping[str, float]]] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)
    skipped: str | None = None
    failed: str | None = None
    rounded: list[str] = field(default_factory=list)
    begun: int | None = None
    ended: bool = False


def read_stats(path: Path, text: str) -> Timeline:
    """Read what ``nsys stats`` printed.

    :raises ReadError: it is nothing of the kind, or has two tables of one kind.
    """
    lines = [line.strip() for line in text.splitlines()]
    found, others = _sorted_out(path, lines)
    if not any(_seen(one) for one in found.values()):
        raise ReadError(_refusal(path, lines, others))
    kernels = tuple(_kernel(name, values) for name, values in found["kernels"].rows)
    section = _section(found["kernels"], "kernels")
    known = found["kernels"].skipped is not None or found["kernels"].begun is not None
    cut = any(row.name.endswith(("\u2026", "...")) for row in kernels)
    return Timeline(
        path=path,
        layout="nsys_stats",
        sections={
            "kernels": section,
            "memcpy": _both(found["times"], found["sizes"]),
        },
        kernels=longest_first(kernels),
        copies=_copies(found["times"], found["sizes"]),
        error=EMPTY if known and section.state == "skipped" else None,
        notes=(
            *([f"not read, for only kernels and copies are taken from a print: {', '.join(others)}"] if others else []),
            *(["nsys cut long names: kernels may look alike that aren't. --format csv has them whole"] if cut else []),
            "nsys's summaries don't tell when a GPU was busy: its SQLite export does (nsys export --type sqlite)",
        ),
    )


def _sorted_out(path: Path, lines: Sequence[str]) -> tuple[dict[Kind, _Found], list[str]]:
    """The tables and messages by kind, and the names of other reports."""
    found: dict[Kind, _Found] = {"kernels": _Found(), "times": _Found(), "sizes": _Found()}
    others: dict[str, None] = {}
    report: str | None = None
    title = ""
    table: _Header | None = None
    for number, line in enumerate(lines, 1):
        if not line or _TITLE.match(line) or _REPORT.match(line):
            table = None
            title = line or title
            if match := _REPORT.match(line):
                report = match[1] or match[2] or match["made"]
                if match["made"] and report in _REPORTS:
                    found[_REPORTS[report]].begun = number
                others.update({} if report in _REPORTS else {report: None})
            elif _TITLE.match(line):
                report = None
        elif message := _SKIPPED.match(line) or _FAILED.match(line):
            table = None
            for kind in _about(report, line):
                if message.re is _SKIPPED:
                    found[kind].skipped = found[kind].skipped or line
                else:
                    found[kind].failed = found[kind].failed or line
        elif (header := _header(line, number, title)) is not None:
            expected = header.kind if report is None else _REPORTS.get(report)
            table = header if header.kind == expected else None
            if table is not None and (earlier := found[table.kind].header) is not None:
                raise ReadError(
                    f"{path}:{number}: a second table of {table.kind}; the first is in line {earlier.line}. Give the"
                    " summaries of one report at a time."
                )
            if table is not None:
                found[table.kind].header = table
        elif table is not None and not _RULE.fullmatch(line) and not _PROGRESS.match(line):
            row = _row(table, line)
            if row is None:
                found[table.kind].bad.append(number)
            else:
                name, values = row
                own = found[table.kind]
                own.rows.append(row)
                if (below := values.get("below")) is not None:
                    less = scaled(below, "B" if table.kind == "sizes" else "s")
                    own.rounded.append(f"line {number}: the total of {name} is rounded to 0: it is below {less}")
    written = max((number for number, line in enumerate(lines, 1) if line), default=0)
    for one in found.values():
        one.ended = one.begun is not None and one.begun < written
    return found, list(others)


def _about(report: str | None, message: str) -> Iterator[Kind]:
    """Which tables a message speaks of: by the report that was being made, else by its words."""
    words = message.partition("contain")[2].lower() or message.lower()  # not of the path before it
    if report is not None:
        if report in _REPORTS:
            yield _REPORTS[report]
        return
    if "kern" in words:
        yield "kernels"
    elif "mem" in words:
        yield from ("times", "sizes")


def _header(line: str, number: int, title: str) -> _Header | None:
    """The header that a line is, if it is one.

    :param title: of the table; early versions said there in which unit the sizes are.
    """
    for shape, cells in _split(line):
        matches = [_COLUMN.fullmatch(cell.strip()) for cell in cells]
        names = _names(matches)
        kind = next((kind for kind, needed in _NEEDED.items() if needed <= set(names) <= needed | _LATER), None)
        if kind is None or len(set(names)) < len(cells) or names[-1] not in ("name", "operation"):
            continue
        units = [match["unit"].lower() if match and match["unit"] else None for match in matches]
        by_title = _TITLE_UNIT.search(title)
        if kind == "sizes" and by_title and not any(units):
            units = [by_title[1].lower()] * len(units)
        return _Header(kind=kind, shape=shape, names=names, units=units, line=number)
    return None


def _names(matches: Iterable[re.Match[str] | None]) -> list[str]:
    """Give what today's versions call these columns."""
    plain = [match["name"].strip().lower() for match in matches if match]
    return [_SAME.get(name, name) for name in plain]


def _split(line: str) -> Iterator[tuple[Shape, list[str]]]:
    """The cells of a header, in each way in which its line may be meant."""
    if line.startswith("|"):
        yield "box", line.strip("|").split("|")
        return
    cells = _csv(line)
    if cells is not None and len(cells) > 1:
        yield "csv", cells
    yield "columns", re.split(r"\s{2,}", line)


def _csv(line: str) -> list[str] | None:
    try:
        return next(csv.reader([line], strict=True), None)
    except csv.Error:
        return None


def _row(header: _Header, line: str) -> tuple[str, dict[str, float]] | None:
    """Name and figures, in seconds and bytes, of a line under a header; None where it is no row of its table, or one
    with a figure that can't be. ``below`` is there where the total is rounded to 0: it is less.
    """
    last = len(header.names) - 1
    if header.shape == "csv":
        cells = _csv(line) or []
    elif header.shape == "box":
        cells = line.removeprefix("|").removesuffix("|").split("|", last)
    else:
        cells = line.split(None, last)
    if len(cells) != len(header.names) or not cells[-1].strip():
        return None
    values: dict[str, float] = {}
    scales = _BYTES if header.kind == "sizes" else _SECONDS
    of_total = header.units[header.names.index("total" if header.kind == "sizes" else "total time")]
    for name, unit, cell in zip(header.names[:-1], header.units, cells, strict=False):
        text = cell.strip()
        if name in ("stddev", "time"):
            continue
        if not _NUMBER.fullmatch(text):
            return None
        number = float(text.replace(",", ""))
        if name in ("instances", "count"):
            if number < 1 or number != int(number):
                return None
            values[name] = number
        elif (scale := scales.get(unit or of_total or "")) is None:
            return None
        else:
            values[name] = number * scale
            _, point, decimals = text.partition(".")
            if name.startswith("total") and point and not number:
                values["below"] = 0.5 * 10.0 ** -len(decimals) * scale
    return cells[-1].strip(), values


def _kernel(name: str, values: Mapping[str, float]) -> KernelRow:
    instances, total_s = int(values["instances"]), values["total time"]
    return KernelRow(
        name=name,
        instances=instances,
        total_s=total_s,
        avg_s=total_s / instances,
        med_s=values.get("med"),
        min_s=values["min"],
        max_s=values["max"],
    )


def _copies(times: _Found, sizes: _Found) -> tuple[CopyRow, ...]:
    """One row a direction, from whichever of the two tables has it."""
    byte = {direction(name): values for name, values in sizes.rows}
    took = {direction(name): values for name, values in times.rows}
    return copies_first(
        [
            CopyRow(
                kind=kind,
                count=int(took.get(kind, byte.get(kind, {}))["count"]),
                total_s=took[kind]["total time"] if kind in took else None,
                byte=byte[kind]["total"] if kind in byte and "below" not in byte[kind] else None,
            )
            for kind in {**took, **byte}
        ]
    )


def _seen(found: _Found) -> bool:
    return any(one is not None for one in (found.header, found.skipped, found.failed, found.begun))


def _section(found: _Found, what: str) -> Section:
    numbered = some_of([f"line {number}" for number in found.bad], 5)
    bad = f"no rows of the table of {what}: {numbered}" if numbered else None
    reasons = [reason for reason in (found.failed, bad) if reason]
    reasons += found.rounded[:5]
    if found.rows:
        return Section(state="partial", reason="; ".join(reasons)) if reasons else OK
    if reasons:
        return Section(state="failed", reason="; ".join(reasons))
    if found.header is not None:
        return Section(state="failed", reason=f"line {found.header.line}: a header of {what} and no row under it")
    if found.skipped is not None:
        return Section(state="skipped", reason=found.skipped)
    if found.begun is None:
        return Section(state="skipped", reason=f"no table of {what} in it. {HOW_TO} prints it.")
    if found.ended and what == "kernels":
        return Section(
            state="skipped", reason=f"no kernel was recorded: nsys's table of them is empty. {HOW_TO_CAPTURE}"
        )
    if found.ended:
        return Section(state="skipped", reason=f"none was recorded: nsys's table of {what} is empty")
    return Section(
        state="failed",
        reason=f"the print ends in line {found.begun}, where nsys makes the table of {what}. Was nsys let to finish?",
    )


def _both(times: _Found, sizes: _Found) -> Section:
    """Of the two tables of copies: it takes both to be complete, but either may not have been asked for."""
    both = ((times, "copies by time"), (sizes, "copies by size"))
    parts = [_section(one, what) for one, what in both if _seen(one)]
    if not parts:
        return _section(times, "copies")
    worst = [part for part in parts if part.state != "ok"]
    if not worst:
        return OK
    usable = bool(times.rows or sizes.rows)
    reason = "; ".join(dict.fromkeys(part.reason for part in worst if part.reason))
    return Section(state="partial" if usable else worst[0].state, reason=reason)


def _refusal(path: Path, lines: Sequence[str], others: Sequence[str]) -> str:
    first = next(((number, line) for number, line in enumerate(lines, 1) if line), None)
    if first is None:
        return f"{path}: empty. Was nsys stats let to finish? {HOW_TO}"
    number, line = first
    if others:
        return f"{path}: no summary of kernels or copies in it, only {', '.join(others)}. {HOW_TO}"
    shown = line if len(line) <= 80 else f"{line[:80]}\u2026"
    return (
        f"{path}:{number}: nothing that nsys stats prints: no table under its columns (Total Time, Instances, Name),"
        f" no word of one that was skipped. It begins with {shown!r}. Tables made by hand aren't read;"
        f" roofline trace reads traces of torch.profiler, roofline ncu what ncu prints. {HOW_TO}"
    )
