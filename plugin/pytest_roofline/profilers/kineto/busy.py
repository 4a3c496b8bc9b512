"""When the device had something to do: the union of what ran on it, and the gaps between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_roofline.profilers.kineto.recording import Kernel


@dataclass(frozen=True, slots=True)
class Busy:
    """Of one step. ``longest_gap_ns`` is the longest time between two kernels in which none ran; 0 without a gap."""

    busy_ns: int
    longest_gap_ns: int


def busy(kernels: Sequence[Kernel]) -> Busy:
    """Kernels, copies and fills of all streams together: what overlaps counts once.

    What lies before the first and after the last is no gap between two of them.
    """
    busy_ns = longest_gap_ns = 0
    until: int | None = None
    for kernel in sorted(kernels, key=lambda kernel: kernel.start_ns):
        if until is None:
            until = kernel.start_ns
        longest_gap_ns = max(longest_gap_ns, kernel.start_ns - until)
        busy_ns += max(0, kernel.end_ns - max(kernel.start_ns, until))
        until = max(until, kernel.end_ns)
    return Busy(busy_ns=busy_ns, longest_gap_ns=longest_gap_ns)
