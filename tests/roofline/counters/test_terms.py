"""What a metric is a number of."""

from __future__ import annotations

from roofline.counters.terms import CYCLE_RATES, DRAM_RATE, RATES, SM_CLOCKS, TIME, dimension


def test_dimensions() -> None:
    """Of the metrics that quantities are made of, and of those that tell of tensor cores; of no other."""
    assert [dimension(name) for name in (TIME, DRAM_RATE, *SM_CLOCKS)] == ["time", "byte_per_s", *["frequency"] * 2]
    assert dimension("dram__sectors_read.sum") == "count"
    assert dimension("sm__inst_executed_pipe_tensor.sum") == "count"
    assert dimension("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active") == "share"
    assert dimension("sm__inst_executed_pipe_tensor.avg") is None
    assert dimension("flop_count_sp") is None
    assert dimension("sm__throughput.avg.pct_of_peak_sustained_elapsed") is None


def test_rates() -> None:
    """Those a second need the time alone; those a cycle a clock, too."""
    assert {dimension(name) for name in RATES} == {"byte_per_s", "per_cycle"}
    assert {dimension(name) for name in CYCLE_RATES} == {"per_cycle"}
    assert set(RATES) - set(CYCLE_RATES) == {
        DRAM_RATE,
        "dram__bytes_read.sum.per_second",
        "dram__bytes_write.sum.per_second",
    }
