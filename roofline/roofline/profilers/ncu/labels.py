"""The labels that ncu's details page has in place of metrics' names, where sections collected them.

Which metric a label stands for is told by NVIDIA's section files, which ncu delivers (``SpeedOfLight.section``,
``SpeedOfLight_RooflineChart.section``, ``MemoryWorkloadAnalysis.section``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from roofline.counters.chips import DRAM_READ, DRAM_WRITE
from roofline.counters.terms import DRAM_RATE, TIME
from roofline.profilers.ncu.program import print_command

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

_AMOUNTS = (TIME, DRAM_READ[0], DRAM_WRITE[0], "lts__t_bytes.sum", "l1tex__t_bytes.sum")


def is_label(printed: str) -> bool:
    """Whether what stands for a metric is a label alone: names are in lower case, or have ``__``."""
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


def not_printed() -> str:
    """Of a metric that a page of labels has no label for: how to get it."""
    return f"not on this page; `{print_command()}` prints it, where the report has it at all"


def unprinted(had: Iterable[str], why: str) -> dict[str, str]:
    """Metrics that a page of labels may leave out.

    :param had: what a launch has. Where it has instructions, those are the ones that were collected.
    :param why: what is told of each, by `not_printed`.
    """
    instructions = () if any("__sass_thread_inst_executed" in name for name in had) else (_SASS.format(_OPERATIONS[0]),)
    return dict.fromkeys((*_AMOUNTS, *instructions), why)
