"""Read how a file of Nsight Compute writes numbers (``1,234.5`` or ``1.234,5``), their units (``Mbyte``), and what
they are of (a metric's name, or the label that a section has for it).

Profilers print in the language of the system they ran on, so ``117.344`` may be 117,344. That is decided once for the
whole file: what a single number can't tell, its neighbours do; where none does, or two contradict each other, the file
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Literal

from roofline.counters.quantities import BY_NAME, DRAM_RATE, OF_KERNEL, TIME, Dimension
from roofline.profilers.ncu.installation import print_command

Mark = Literal[".", ","]
"""What stands before the decimals; the other one sets off groups of digits."""


class NumberFormatError(ValueError):
    """The numbers don't tell how they are written, or tell two ways."""


def parsed(text: str, decimal: Mark) -> float:
    """Read a number. It may be too large for a float, and infinite then.

    :raises ValueError: it is none that is written so.
    """
    if _PATTERNS[decimal].fullmatch(text) is None:
        raise ValueError(text)
    return float(text.replace(_other(decimal), "").replace(decimal, "."))


def _number(group: str, decimal: str) -> re.Pattern[str]:
    """Groups are of three digits; what has an exponent has none."""
    grouped, plain = rf"[1-9]\d{{0,2}}(?:{group}\d{{3}})+(?:{decimal}\d*)?", rf"\d+(?:{decimal}\d*)?"
    return re.compile(rf"[+-]?(?:{grouped}|{plain}(?:[eE][+-]?\d{{1,3}})?)", re.ASCII)


_PATTERNS: dict[Mark, re.Pattern[str]] = {".": _number(",", r"\."), ",": _number(r"\.", ",")}

_LONG = 5
"""Digits from which every language sets groups off that does so at all."""


class Evidence:
    """What the numbers of one file say of how they are written."""

    def __init__(self) -> None:
        self._decimal: dict[Mark, tuple[int, str]] = {}
        self._undecided: dict[Mark, tuple[int, str]] = {}
        self._ungrouped = False

    def add(self, text: str, line: int, *, whole: bool = False) -> None:
        """Take a cell into account; one that is no number says nothing.

        :param whole: it is known to be a whole number, such as a count.
        """
        if "." not in text and "," not in text:
            self._ungrouped = self._ungrouped or (len(text) >= _LONG and text.isdigit())
            return
        text = text.strip()
        written = [mark for mark, pattern in _PATTERNS.items() if pattern.fullmatch(text)]
        if len(written) == 1:
            self._decimal.setdefault(written[0], (line, text))
        elif written:
            mark: Mark = "." if "." in text else ","
            found, decimal = (self._decimal, _other(mark)) if whole else (self._undecided, mark)
            found.setdefault(decimal, (line, text))

    def decide(self) -> Mark:
        """Decide what stands before the decimals in the whole file.

        :raises NumberFormatError: nothing tells, or the file contradicts itself.
        """
        if len(self._decimal) == 2:
            (point_line, point), (comma_line, comma) = self._decimal["."], self._decimal[","]
            raise NumberFormatError(
                f"its numbers contradict each other: {point!r} in line {point_line} has a decimal point,"
                f" {comma!r} in line {comma_line} a decimal comma. Is it put together from two files? {_remedy()}."
            )
        if self._decimal:
            return "." if "." in self._decimal else ","
        if len(self._undecided) == 1 and self._ungrouped:
            # Long numbers are not set in groups here: the mark stands before decimals.
            return "." if "." in self._undecided else ","
        if self._undecided:
            line, text = min(self._undecided.values())
            small, large = (float(re.sub("[.,]", mark, text, count=1)) for mark in (".", ""))
            raise NumberFormatError(
                f"{text!r} in line {line} may be {small:g} or {large:,.0f}, and no other number of the file tells"
                f" which. {_remedy()}, or say with --decimal point or --decimal comma which it is."
            )
        return "."


def _remedy() -> str:
    return f"Have ncu print them anew with LC_ALL=C and --print-units base ({print_command()})"


def _other(mark: Mark) -> Mark:
    return "," if mark == "." else "."


_LARGE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
"""Of anything but seconds, whatever the case: ``Kbyte`` is 1000 byte."""

_SMALL = {"": 1.0, "m": 1e3, "u": 1e6, "\u00b5": 1e6, "\u03bc": 1e6, "n": 1e9, "p": 1e12}
"""Parts of a second in one second."""

_SECONDS = ("seconds", "second", "sec", "s")
_BYTES = ("bytes", "byte")
_COUNTED = ("inst", "op", "ops", "sector", "thread", "warp", "request", "cycle", "")
"""What is counted; some versions print no unit."""

_ABOVE: Mapping[Dimension, tuple[str, ...]] = {
    "byte": _BYTES,
    "byte_per_s": _BYTES,
    "count": _COUNTED,
    "per_cycle": _COUNTED,
    "frequency": ("hz", *_COUNTED),
}


@lru_cache(maxsize=1024)
def factors(unit: str, dimension: Dimension) -> tuple[float, float] | None:
    """Say what to multiply with and what to divide by to get base units; None where the unit is of another dimension or
    not known.

    Two numbers, for powers of ten are exact and their reciprocals are not: 10,000 usecond is 0.01 s to the last bit.

    >>> factors("Mbyte", "byte"), factors("usecond", "time")
    ((1000000.0, 1.0), (1.0, 1000000.0))
    """
    text = unit.strip().lower()
    if dimension == "share":
        return (1.0, 1.0) if text == "%" else None
    if dimension == "time":
        parts = _scale(text, _SECONDS, _SMALL)
        return None if parts is None else (1.0, parts)
    above, slash, below = text.partition("/")
    times = _scale(above, _ABOVE[dimension], _LARGE)
    if dimension in ("byte", "count") or above.endswith("hz"):
        per = None if slash else 1.0
    elif dimension == "per_cycle":
        per = 1.0 if below == "cycle" else None
    else:  # by a part of a second: as many more in a whole one
        per = _scale(below, _SECONDS, _SMALL)
    return None if times is None or per is None else (times * per, 1.0)


def _scale(text: str, words: tuple[str, ...], prefixes: Mapping[str, float]) -> float | None:
    """Give what the prefix of one of the words stands for."""
    for word in words:
        if text.endswith(word) and (factor := prefixes.get(text.removesuffix(word))) is not None:
            return factor
    return None


# Labels. Which metric one stands for is said by NVIDIA's section files, which ncu delivers (``SpeedOfLight.section``,
# ``SpeedOfLight_RooflineChart.section``, ``MemoryWorkloadAnalysis.section``).

_CLOCK = "SM Frequency"
_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_OPERATIONS = ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma")
"""What the roofline chart has: single and double precision. Of half precision and tensor cores it prints nothing."""

_METRICS: Mapping[str, str] = {
    "Duration": TIME,
    "Memory Throughput": DRAM_RATE,
    "DRAM Bandwidth": DRAM_RATE,
    _CLOCK: "smsp__cycles_elapsed.avg.per_second",
    **{
        f"Predicated-On {one.upper()} Thread Instructions Executed Per Cycle": f"{_SASS.format(one)}.per_cycle_elapsed"
        for one in _OPERATIONS
    },
}

_ACHIEVED = "Single Precision Achieved Value"
"""The part of the roofline chart whose clock is that of the instructions; its roofs have the clock of another unit."""

_AMOUNTS = tuple(BY_NAME[part].asked[0] for name in OF_KERNEL for part in BY_NAME[name].parts or (name,))
"""The metrics of all quantities but FLOPs."""


def is_label(printed: str) -> bool:
    """Tell whether what stands for a metric is a label alone: names are in lower case, or have ``__``."""
    return bool(printed) and "__" not in printed and not printed.islower()


def metric_of(printed: str, unit: str, section: str | None = None, item: str | None = None) -> str:
    """The metric's own name; what is printed, where that is a label of no quantity.

    :param printed: name, label, or, by ``--print-metric-name label-name``, both.
    :param section: the section it stands in; None where the table doesn't tell.
    :param item: the part of the section.
    """
    if not is_label(printed):
        last = printed.rpartition(" ")[2].strip("()[]")
        return last if "__" in last else printed
    # Two sections have a Memory Throughput: one is a rate, the other its share of the peak.
    if unit == "%" or (printed == _CLOCK and "Roofline" in (section or "") and item != _ACHIEVED):
        return printed
    return _METRICS.get(printed, printed)


def unprinted(had: Collection[str], print_command: str) -> dict[str, str]:
    """Metrics that a page of labels may leave out, each with how to get it.

    :param had: what a launch has. Where it has instructions, those are the ones that were collected.
    """
    why = f"not on this page; `{print_command}` prints it, where the report has it at all"
    instructions = () if any("__sass_thread_inst_executed" in name for name in had) else (_SASS.format(_OPERATIONS[0]),)
    return dict.fromkeys((*_AMOUNTS, *instructions), why)
