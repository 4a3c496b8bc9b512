"""Make what ``roofline ncu`` shows: a table of kernels with their sums, and the metrics to ask ncu for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from roofline.counters.quantities import (
    LISTED,
    QUANTITIES,
    Quantity,
    byte_metrics,
    chip_of,
    flop_metrics,
    taken_for,
)
from roofline.profilers.ncu.kernel_sums import CountedCapture, KernelSum
from roofline.show.step.step_notes import kernel as shortened
from roofline.show.tables import Column, Table, number, seconds, share, words
from roofline.text.units import prefixed, scaled, significant

_WIDE, _NARROW = 48, 22
"""Characters of a kernel's name that a terminal shows; CSV and JSON have all of them."""

_SHOWN_NOTES = 12

_RATE = ".per_cycle_elapsed"
_ROUNDED = (
    "FLOP are made of rates, which the CSV has to 0.01 a cycle: of a kernel with few of them they may round to 0."
)

_REPORTED = {"time_s": "time", "flop": "FLOP", "dram_byte": "DRAM bytes"}
"""What a table shows; JSON tells of all that is missing."""


def table(counted: CountedCapture, kernels: Sequence[KernelSum], what: str, *, with_total: bool) -> Table[KernelSum]:
    """A row a kernel, and one for all together.

    :param what: heading of the first column: kernel, kind or launch.
    """
    total = counted.total
    total_s = total.amounts["time_s"]

    def of_time(one: KernelSum) -> float | None:
        time_s = one.amounts["time_s"]
        return time_s / total_s if time_s is not None and total_s else None

    def missing(one: KernelSum) -> dict[str, str]:
        why = one.missing.get("time_s") or total.missing.get("time_s", "the times of all launches add up to 0")
        return dict(one.missing) if of_time(one) is not None else {**one.missing, "share_of_time": why}

    name = words(what, get="name", show=partial(shortened, width=_WIDE), narrow=partial(shortened, width=_NARROW))
    shown = [
        name,
        *([] if what == "kind" else [_KIND]),
        _LAUNCHES,
        _AMOUNTS["time_s"],
        share("share_of_time", "% of\ntime", of_time),
        _AMOUNTS["flop"],
        _AMOUNTS["dram_byte"],
        _INTENSITY,
        _TENSOR_CORES,
    ]
    units = {"time_s": "s", "flop": "FLOP", "dram_byte": "B of DRAM traffic"}
    sums = [scaled(amount, unit) for name, unit in units.items() if (amount := total.amounts[name]) is not None]
    return Table(
        title=f"{total.launches} launch{'' if total.launches == 1 else 'es'} under ncu: {', '.join(sums) or 'no sums'}",
        columns=[
            *shown,
            *(column for column in _AMOUNTS.values() if column not in shown),
            _BY_PIPE,
            number("missing", get=missing, dtype="string"),
        ],
        rows=[*kernels, *([total] if with_total else [])],
        display=shown,
        notes=[*notes(counted), *([] if with_total else _counted_by(counted))],
    )


def notes(counted: CountedCapture) -> list[str]:
    """Give what the figures rest on, and what is missing with the reason."""
    lines = ["Times are under the profiler, which replays kernels one by one: they are no timing."]
    if counted.total.amounts["flop"] is not None and counted.not_counted:
        lines.append(f"Not collected, or not in full: {', '.join(counted.not_counted)}. FLOP are without them.")
    if any(_RATE in metric for metric in counted.metrics.values()):
        lines.append(_ROUNDED)
    lines += _lacking(counted)
    return [*lines, *counted.capture.notes]


def _counted_by(counted: CountedCapture) -> list[str]:
    """Which metrics answered, and in how many passes, for a program or who reads its input."""
    metrics = [f"{quantity}: {metric}" for quantity, metric in counted.metrics.items()]
    lines = [f"Counted by {'; '.join(metrics)}"] if metrics else []
    passes = counted.capture.passes_by_file.items()
    return [*lines, *(f"Passes of {file}: {number}" for file, number in passes if number)]


def _lacking(counted: CountedCapture) -> list[str]:
    reasons: dict[tuple[str, str], int] = {}
    for one in counted.kernels:
        for quantity, why in one.missing.items():
            if quantity in _REPORTED:
                reasons[quantity, why] = reasons.get((quantity, why), 0) + one.launches
    every = counted.total.launches
    lines = [
        f"No {_REPORTED[quantity]}{'' if launches == every else f' of {launches} of {every} launches'}: {why}."
        for (quantity, why), launches in reasons.items()
    ]
    if len(lines) > _SHOWN_NOTES:
        lines[_SHOWN_NOTES:] = [f"and {len(lines) - _SHOWN_NOTES} more reasons, all in --format json"]
    return [*lines, *_ask(counted)]


def _ask(counted: CountedCapture) -> list[str]:
    """Say what to do where the file has none of a quantity at all."""
    had = counted.metrics.keys()
    if {"time_s", "dram_byte"} <= had and any(name.startswith("flop_by_pipe.") for name in had):
        return []
    return [f"`roofline ncu --ask {counted.capture.compute_capability or 'CC'}` lists the metrics to collect."]


def _amount(quantity: Quantity) -> Column[KernelSum]:
    return (seconds if quantity.unit == "s" else partial(number, show=prefixed))(
        quantity.name, quantity.title, f"amounts.{quantity.name}"
    )


_KIND = words("kind", narrow=lambda kind: kind.replace("convolution ", "conv. "), dtype="category")
_LAUNCHES = number("launches", drop=1, dtype="Int64")
_AMOUNTS = {quantity.name: _amount(quantity) for quantity in QUANTITIES}
_INTENSITY = number("intensity_flop_per_byte", "FLOP/\nbyte", "intensity", significant)
_TENSOR_CORES = words(
    "tensor_cores", "tensor\ncores", show=lambda used: "yes" if used else "no", drop=2, dtype="boolean"
)
_BY_PIPE: Column[KernelSum] = number(
    "flop_by_pipe",
    "by pipe",
    lambda one: None if one.flop_by_pipe is None else dict(one.flop_by_pipe),
    dtype="string",
)


_REFUSED = (
    "An ncu that says it failed to find a metric has counted nothing: leave that one out. One that it prints n/a for"
    " the chip doesn't have."
)


def request(compute_capability: str) -> str:
    """As ncu's command line takes them: bytes, FLOP of CUDA cores, and FLOP of all cores, each under its heading. What
    has to be known of the chip stands before them.
    """
    chip = chip_of(compute_capability)
    listed = compute_capability in LISTED
    one_pass = " (one pass)" if listed else ""
    passes = "" if not listed or chip is None or chip.flop_passes is None else f" ({chip.flop_passes} passes)"
    levels = "bytes" if chip is None or chip.has_dram_counters else "bytes of L2 and L1"
    asked = {
        f"{levels} and time, in a run of their own{one_pass}": byte_metrics(compute_capability),
        f"FLOP of CUDA cores alone{one_pass}": flop_metrics(compute_capability, tensor=False),
        f"FLOP of CUDA cores and tensor cores{passes}": flop_metrics(compute_capability, tensor=True),
    }
    lists = (f"{heading}:\n--metrics {','.join(metrics)}" for heading, metrics in asked.items())
    return "\n".join((*_warnings(compute_capability), *lists)) + "\n"


def _warnings(compute_capability: str) -> Iterator[str]:
    chip, alike = chip_of(compute_capability), taken_for(compute_capability)
    if compute_capability not in LISTED:
        of_whom = "any of them" if alike is None else f"{alike}, the next older one of its generation"
        yield (
            f"The counters of compute capability {compute_capability} are not known here, only those of"
            f" {', '.join(LISTED)}. The names below are those of {of_whom}; how many passes they take isn't known."
            f" {_REFUSED}"
        )
    elif chip is not None and any(len(names) > 1 for names in chip.asked.values()):
        yield f"Which of two names the DRAM counters of {compute_capability} have depends on the ncu. {_REFUSED}"
    if chip is not None and not chip.has_dram_counters:
        yield (
            f"Compute capability {alike} has no counter of DRAM bytes: neither a kernel's traffic nor its intensity"
            " (FLOP/byte) can be counted."
        )
