"""The machine's readings while a case ran, in one figure each: power, heat, clocks, energy, events on host cores."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from roofline.schema.amounts import usable, usable_or_zero
from roofline.schema.record import HostCounters, Record, Rounds


def mean(series: Sequence[float] | None) -> float | None:
    """Over the rounds; None without a series, or with a reading in it that can't be calculated with."""
    return statistics.fmean(series) if series and all(map(usable_or_zero, series)) else None


def most(series: Sequence[float] | None) -> float | None:
    """The largest of the rounds, on the same terms."""
    return max(series) if series and all(map(usable_or_zero, series)) else None


def total(series: Sequence[float] | None) -> float | None:
    """All rounds together, on the same terms."""
    return sum(series) if series and all(map(usable_or_zero, series)) else None


def throttle_share(rounds: Rounds) -> float | None:
    """Share of the rounds in which something held the device's clocks down."""
    return sum(1 for held in rounds.throttle if held) / len(rounds.throttle) if rounds.throttle else None


def throttle_reasons(rounds: Rounds) -> list[str]:
    """The reasons that held them down, the most frequent first."""
    told = (reason for held in rounds.throttle or () if held for reason in held.split("; "))
    return [reason for reason, _ in Counter(told).most_common()]


def energy_j_per_sample(record: Record) -> float | None:
    energy_j, samples = record.energy_j_per_step, record.case.samples_per_step
    return None if energy_j is None or samples < 1 or not usable_or_zero(energy_j) else energy_j / samples


def instructions_per_cycle(counters: HostCounters) -> float | None:
    return _ratio(counters.instructions, counters.cycles)


def cache_miss_share(counters: HostCounters) -> float | None:
    """Of the references to the last level that perf counts as such."""
    return _ratio(counters.cache_misses, counters.cache_references)


def branch_miss_share(counters: HostCounters) -> float | None:
    return _ratio(counters.branch_misses, counters.branches)


def _ratio(part: float | None, whole: float | None) -> float | None:
    if part is None or whole is None or not usable_or_zero(part) or not usable(whole):
        return None
    return part / whole
