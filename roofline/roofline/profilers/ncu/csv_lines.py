"""The lines of a file that ``ncu --csv`` printed: which are its table, which are messages, and which are of the program
that was profiled and shared the stream.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from roofline.files.decoding import ReadError
from roofline.profilers.ncu.installation import ASK, print_command
from roofline.text.printable import printable

Page = Literal["raw", "details", "summary"]
"""``raw``: a column a metric, with the units in a row of their own. ``details``: a row a metric, as ``--metrics`` and
sections print. ``summary``: a row a metric of all launches of a kernel."""

_RAW = frozenset({"ID", "Kernel Name"})
_DETAILS = frozenset({"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"})
_SUMMARY = frozenset(
    {"Kernel Name", "Invocations", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"},
)
"""ncu prints more (process, context, stream), which people leave out when they pass tables on. Without one of these
columns nobody knows which launch or unit a number is of.
"""

_INTEGER = re.compile(r"\d{1,18}|\d{1,3}(?:[.,]\d{3}){1,5}", re.ASCII)
"""ncu counts no launches to more."""

_ROW = re.compile(r'"\d[\d.,]*",', re.ASCII)
"""How a row that ncu printed begins."""

_PASSES = re.compile(r"- (\d{1,4}) pass(?:es)?\s*$", re.ASCII)
_TEXT_PAGE = re.compile(r"^\s+Section: |^\[\d+\] [^\s@]+@\S+\s*$", re.MULTILINE)
_NO_KERNELS = "No kernels were profiled"

_REMEDIES = (
    (
        re.compile("ERR_NVGPUCTRPERM"),
        "The driver gives its counters to administrators only. Run ncu as root, by its full path, for sudo replaces"
        " PATH. Or allow all users: 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in a file of"
        " /etc/modprobe.d, and restart. A container needs --cap-add=SYS_ADMIN; on a rented machine its owner has to"
        " allow it.",
    ),
    (
        re.compile("failed to find metric", re.IGNORECASE),
        "This ncu has no metric of that name for this GPU, and so has counted none of the others. flop_count_sp and its"
        f" like are names of nvprof. {ASK}",
    ),
)
"""What to do about errors of ncu, by what it prints."""

_SHOWN = 300
"""Characters of somebody else's line that a message repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The line that heads a table. ``column`` gives the place of each name."""

    line: int
    page: Page
    quoted: bool
    cells: tuple[str, ...]
    column: Mapping[str, int]

    def get(self, cells: Sequence[str], name: str) -> str | None:
        """The cell under ``name``; None where the table has no such column."""
        place = self.column.get(name)
        return cells[place].strip() if place is not None and place < len(cells) else None


def how() -> str:
    """Say what to give in place of a file that isn't read."""
    return f"Give what `ncu --csv` prints: {print_command()}, or the .ncu-rep itself."


def remedy(error: str) -> str | None:
    """Say what to do about an error that ncu printed; None: not known."""
    return next((text for sign, text in _REMEDIES if sign.search(error)), None)


def integer(text: str | None) -> int | None:
    """A whole number, in groups or not; None where it is none."""
    bare = (text or "").strip()
    return int(re.sub("[.,]", "", bare)) if _INTEGER.fullmatch(bare) else None


class Lines:
    """One pass over the lines of a file. What is not in the table is reported afterwards."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._headed = False
        self.errors: dict[str, None] = {}
        self.warnings: dict[str, None] = {}
        self.passes: int | None = None
        self.left_out: list[int] = []
        """Numbers of lines below the header that are neither ncu's table nor its messages."""

    def rows(self) -> Iterator[tuple[Header, int, list[str]]]:
        """Every row of every table with its header and its line number; of a raw page the row of units is the first.

        :raises ReadError: a row that was cut off.
        """
        header: Header | None = None
        for number, line in enumerate(io.StringIO(self._text, newline=None), 1):
            if line.startswith("=="):
                self._message(line)
                continue
            if header is None and "Kernel Name" not in line:
                continue
            try:
                cells = next(csv.reader((line,)), [])
            except csv.Error:
                # Longer than any cell of ncu.
                cells = []
            if "Kernel Name" in line and (found := _header(number, line, cells)) is not None:
                header = found
                self._headed = True
            elif header is not None and line.strip():
                # Of a number that was cut off what is left is another number.
                if _is_row(header, cells) and line.count('"') % 2 == 0:
                    yield header, number, cells
                elif _begins_row(header, line, cells):
                    raise ReadError(
                        f"{self._path}:{number}: no whole row under the {len(header.cells)} columns of line"
                        f" {header.line}. The file was cut off or edited: have ncu print it again. {how()}"
                    )
                else:
                    self.left_out.append(number)

    def refuse(self) -> NoReturn:
        """There was no row of a kernel: say why.

        :raises ReadError: always.
        """
        path, text = self._path, self._text
        if self.errors:
            said = "; ".join(self.errors)
            what_helps = remedy(said) or "Run ncu anew without that error."
            raise ReadError(f"{path}: no kernels in it, for ncu failed: {said} {what_helps}")
        if _NO_KERNELS in text or self._headed:
            what = f"ncu says: {_NO_KERNELS}" if _NO_KERNELS in text else "a header and no row of a kernel"
            raise ReadError(
                f"{path}: no kernels in it ({what}). Either they run in another process (ncu needs --target-processes"
                " all), or a filter (-k, -s, --nvtx, --profile-from-start off) left none, or the program never used the"
                " GPU."
            )
        if not text.strip():
            raise ReadError(f"{path}: empty. {how()}")
        if _TEXT_PAGE.search(text):
            raise ReadError(f"{path}: ncu's text page, which is for people. Print it with --csv --page raw. {how()}")
        begin = text.lstrip().partition("\n")[0][:60]
        raise ReadError(
            f"{path}: no table of ncu in it; it begins with {begin!r}. Tables made by hand are not read;"
            f" `roofline nsys` reads those of nsys, `roofline trace` traces of torch.profiler. {how()}"
        )

    def _message(self, line: str) -> None:
        text = printable(line.strip()[:_SHOWN])
        kind, _, said = text[2:].partition("== ")
        if kind == "ERROR":
            self.errors.setdefault(said.strip())
        elif kind == "WARNING":
            self.warnings.setdefault(said.strip())
        elif kind == "PROF" and (match := _PASSES.search(line.rstrip())):
            self.passes = max(self.passes or 0, int(match[1]))


def _header(number: int, line: str, cells: Sequence[str]) -> Header | None:
    names = tuple(cell.strip() for cell in cells)
    known = frozenset(names)
    page: Page
    if known >= _DETAILS:
        page = "details"
    elif known >= _SUMMARY:
        page = "summary"
    elif known >= _RAW and any("__" in name for name in names):
        page = "raw"
    else:
        return None
    # Of two columns of one name the first.
    column = {name: place for place, name in reversed(list(enumerate(names)))}
    return Header(line=number, page=page, quoted=line.startswith('"'), cells=names, column=column)


def _begins_row(header: Header, line: str, cells: Sequence[str]) -> bool:
    """Tell whether a line that does not fit the table begins as its rows do."""
    if header.quoted:
        return _ROW.match(line) is not None
    return len(cells) > 1 and integer(cells[0]) is not None


def _is_row(header: Header, cells: Sequence[str]) -> bool:
    """Tell whether the cells fit under the header. On the details page rows end with the value, or after those of a
    rule.
    """
    if header.page == "details":
        ends = header.column["Metric Value"] + 1
        fits = len(cells) in (len(header.cells), ends, ends + 1)
    else:
        fits = len(cells) == len(header.cells)
    if not fits:
        return False
    if header.page == "summary":
        return integer(header.get(cells, "Invocations")) is not None
    number = header.get(cells, "ID") or ""
    units = header.page == "raw" and not number and not header.get(cells, "Kernel Name")
    return units or integer(number) is not None
