"""What ``roofline ncu --ask`` shows: the metrics to ask ncu for on a chip, and what isn't known of it or lacks."""

from __future__ import annotations

from collections.abc import Iterator

from roofline.counters.chips import LISTED, chip_of, taken_for
from roofline.counters.metrics import byte_metrics, flop_metrics

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
    levels = "bytes" if chip is None or chip.dram else "bytes of L2 and L1"
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
    elif chip is not None and len(chip.dram) > len(("read", "write")):
        yield f"Which of two names the DRAM counters of {compute_capability} have depends on the ncu. {_REFUSED}"
    if chip is not None and not chip.dram:
        yield (
            f"Compute capability {alike} has no counter of DRAM bytes: neither a kernel's traffic nor its intensity"
            " (FLOP/byte) can be counted."
        )
