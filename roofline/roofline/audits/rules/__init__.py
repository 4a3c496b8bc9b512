"""The rules, in the order in which they are reported. A rule not listed here does not exist."""

from __future__ import annotations

from roofline.audits.rule import Rule
from roofline.audits.rules.conventions import circular_intensity, mixed_conventions, peak_of_another_card
from roofline.audits.rules.limits import above_roof, faster_than_launch, faster_than_light, impossible_time
from roofline.audits.rules.rates import (
    flop_of_mac,
    rate_times_time,
    throughput_cliff,
    throughput_times_latency,
    unexplained_rate,
)
from roofline.audits.rules.same_work import pooled, same_as_cpu
from roofline.audits.rules.statistics import mean_above_percentile, out_of_order, two_clusters, zero_spread

RULES: tuple[Rule, ...] = (
    rate_times_time,
    throughput_times_latency,
    flop_of_mac,
    unexplained_rate,
    pooled,
    same_as_cpu,
    mean_above_percentile,
    out_of_order,
    two_clusters,
    zero_spread,
    impossible_time,
    above_roof,
    faster_than_light,
    faster_than_launch,
    circular_intensity,
    mixed_conventions,
    peak_of_another_card,
    throughput_cliff,
)
