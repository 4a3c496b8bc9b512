"""The statistics of a benchmark as pytest-benchmark writes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """pytest-benchmark's own figures of one benchmark, seconds for one iteration. None: missing, or not finite.

    ``round_times_s`` is there where round times were saved, and no record has them; None in it: not finite. ``unit`` is
    what the file itself says the times are in: pytest-benchmark says nothing and means seconds.
    """

    mean_s: float | None
    stddev_s: float | None
    median_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    iqr_s: float | None = None
    q1_s: float | None = None
    q3_s: float | None = None
    total_s: float | None = None
    iterations_per_s: float | None = None
    rounds: float | None = None
    round_times_s: tuple[float | None, ...] | None = None
    unit: str | None = None
