"""Which metric a label of the details page is, and what is said of those that the page doesn't print."""

from __future__ import annotations

import pytest

from roofline.counters.quantities import DRAM_RATE, TIME, dimension
from roofline.profilers.ncu.csv_pages import is_label, metric_of, not_printed, unprinted

CLOCK = "smsp__cycles_elapsed.avg.per_second"
CHART = "GPU Speed Of Light Roofline Chart"


@pytest.mark.parametrize(
    ("printed", "unit", "metric"),
    [
        ("Duration", "us", TIME),
        ("Memory Throughput", "Gbyte/s", DRAM_RATE),
        ("Memory Throughput", "%", "Memory Throughput"),
        ("DRAM Bandwidth", "Gbyte/s", DRAM_RATE),
        (
            "Predicated-On FFMA Thread Instructions Executed Per Cycle",
            "inst/cycle",
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
        ),
        (
            "Predicated-On DADD Thread Instructions Executed Per Cycle",
            "inst/cycle",
            "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed",
        ),
        # Twice the instructions, and a peak: neither is taken for the instructions.
        ("Predicated-On FFMA Operations Per Cycle", "inst", "Predicated-On FFMA Operations Per Cycle"),
        (
            "Theoretical Predicated-On FFMA Thread Instructions Executed",
            "inst/cycle",
            "Theoretical Predicated-On FFMA Thread Instructions Executed",
        ),
        ("Elapsed Cycles", "cycle", "Elapsed Cycles"),
        # A name stays itself, whatever label stands before it.
        (TIME, "ns", TIME),
        (f"Duration ({TIME})", "us", TIME),
        (f"Duration [{TIME}]", "us", TIME),
        ("", "", ""),
    ],
)
def test_labels(printed: str, unit: str, metric: str) -> None:
    """Those that stand for a metric of some quantity are its name; all others stay what they are."""
    assert metric_of(printed, unit) == metric
    assert (dimension(metric) is not None) == ("__" in metric)


@pytest.mark.parametrize(
    ("section", "item", "metric"),
    [
        ("GPU Speed Of Light Throughput", None, CLOCK),
        (None, None, CLOCK),
        (CHART, "Single Precision Achieved Value", CLOCK),
        (CHART, "Single Precision Roofline", "SM Frequency"),
        (CHART, None, "SM Frequency"),
    ],
)
def test_the_clock_is_that_of_the_instructions(section: str | None, item: str | None, metric: str) -> None:
    """The roofs of the chart have the clock of another unit under the same label."""
    assert metric_of("SM Frequency", "Ghz", section, item) == metric


def test_what_is_a_label() -> None:
    """Names are in lower case; a row of a rule has nothing."""
    assert is_label("Duration")
    assert not any(is_label(printed) for printed in (TIME, f"Duration ({TIME})", "flop_count_sp.sum", ""))


def test_what_is_not_printed() -> None:
    """Time, bytes of each level, and the instructions where a launch has none of them."""
    fadd = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
    why = not_printed()
    assert "--csv --page raw --print-units base" in why
    told = unprinted([TIME], why)
    assert {"lts__t_bytes.sum", "l1tex__t_bytes.sum", "dram__bytes_read.sum", fadd} <= told.keys()
    assert set(told.values()) == {why}
    assert fadd not in unprinted([f"{fadd}.per_cycle_elapsed"], why)
