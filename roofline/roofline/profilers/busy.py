"""For how much of its time a device had something to do, from the intervals of all that ran on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """``span_s`` is from the first start to the last end, ``busy_s`` the part of it in which at least one interval ran.

    The rest are ``gaps``: times in which nothing ran, between two intervals. The longest and the median of them are
    None where there is none.
    """

    start_ns: int
    end_ns: int
    span_s: float
    busy_s: float
    gaps: int
    longest_gap_s: float | None
    median_gap_s: float | None

    @property
    def share(self) -> float | None:
        """Of the span; None for one of no length, as where a single event of no duration was recorded."""
        return self.busy_s / self.span_s if self.span_s > 0 else None


def busy(start_ns: NDArray[int64], end_ns: NDArray[int64]) -> Busy | None:
    """The union of intervals, in whatever order and however they overlap: streams run side by side.

    :param start_ns: of n intervals, whole nanoseconds below 2**54, where sums are still exact.
    :param end_ns: of the same n intervals; none is before its start.
    :returns: None where n is 0.
    """
    import numpy as np

    if not len(start_ns):
        return None
    order = np.argsort(start_ns, kind="stable")
    starts = start_ns[order]
    reached = np.maximum.accumulate(end_ns[order])
    between = starts[1:] - reached[:-1]
    gaps = between[between > 0]
    span_ns = int(reached[-1] - starts[0])
    return Busy(
        start_ns=int(starts[0]),
        end_ns=int(reached[-1]),
        span_s=span_ns / NS_PER_S,
        busy_s=(span_ns - int(gaps.sum())) / NS_PER_S,
        gaps=len(gaps),
        longest_gap_s=int(gaps.max()) / NS_PER_S if len(gaps) else None,
        median_gap_s=float(np.median(gaps)) / NS_PER_S if len(gaps) else None,
    )
