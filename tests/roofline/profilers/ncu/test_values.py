"""How ncu writes numbers, units and labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roofline.counters.quantities import DRAM_RATE, TIME, Dimension, dimension
from roofline.profilers.ncu.values import Evidence, Mark, NumberFormatError, factors, metric_of, parsed


def _decided(texts: Sequence[str], *, whole: bool = False) -> Mark:
    evidence = Evidence()
    for number, text in enumerate(texts, 1):
        evidence.add(text, number, whole=whole)
    return evidence.decide()


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["65,77", "117.344"], ","),
        (["27.595.520", "117.344"], ","),
        (["1.234,50"], ","),
        (["65.77", "117,344"], "."),
        (["4,963,609,951.19"], "."),
        (["0.123"], "."),
        (["1234.567"], "."),
        (["1.5e+10"], "."),
        ([], "."),
        (["128", "n/a", "CachePreferNone", "NVIDIA GeForce RTX 4060", "127.0.0.1"], "."),
    ],
)
def test_the_file_tells(texts: list[str], form: Mark) -> None:
    """Two marks, a mark that stands twice, or decimals that are no group of three settle it for the whole file."""
    assert _decided(texts) == form


def test_numbers_without_groups_tell_too() -> None:
    """Where a long number stands without groups, a mark before three digits stands before decimals."""
    assert _decided(["602720", "117.344"]) == "."
    assert _decided(["602720", "117,344"]) == ","
    with pytest.raises(NumberFormatError):
        _decided(["6027", "117,344"])


def test_a_whole_number_has_no_decimals() -> None:
    """117.344 nanoseconds of a counter that counts whole ones are 117,344."""
    assert _decided(["117.344"], whole=True) == ","
    assert _decided(["117,344"], whole=True) == "."
    assert _decided(["375,000.00"], whole=True) == "."


@pytest.mark.parametrize("texts", [["117.344"], ["117,344"], ["117.344", "1,234"]])
def test_what_nothing_tells_is_refused(texts: list[str]) -> None:
    """With the number, its line, both readings and what to do."""
    with pytest.raises(NumberFormatError) as caught:
        _decided(["12", *texts])
    said = str(caught.value)
    assert f"{texts[0]!r} in line 2 may be 117.344 or 117,344" in said
    assert "LC_ALL=C" in said
    assert "--print-units base" in said
    assert "--decimal point or --decimal comma" in said


@pytest.mark.parametrize(
    "text", ["x", "n/a", "1.234,5", "1,23", "12,3456", "1..5", "0x10", "1_000", "infinity", "٣", "1 234"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    """Python's float would take some of them."""
    with pytest.raises(ValueError, match=re.escape(text)):
        parsed(text, ".")


@given(text=st.text(alphabet="0123456789.,' eE+-n/a", max_size=14), whole=st.booleans())
@example(text="1.00'0", whole=False)
def test_evidence_takes_any_cell(text: str, whole: bool) -> None:
    """A number that is undecided either way is the only one that a file of its own is refused for."""
    try:
        form = _decided([text], whole=whole)
    except NumberFormatError:
        assert parsed(text.strip(), ".") != parsed(text.strip(), ",")
        return
    assert form in (".", ",")


_UNITS: dict[Dimension, dict[str, float]] = {
    "byte": {"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12},
    "time": {
        "s": 1.0,
        "second": 1.0,
        "ms": 1e-3,
        "msecond": 1e-3,
        "us": 1e-6,
        "usecond": 1e-6,
        "ns": 1e-9,
        "nsecond": 1e-9,
    },
    "byte_per_s": {"byte/s": 1.0, "Gbyte/s": 1e9, "Tbyte/second": 1e12, "byte/nsecond": 1e9},
    "count": {"inst": 1.0, "Kinst": 1e3, "sector": 1.0, "": 1.0},
    "frequency": {"hz": 1.0, "Ghz": 1e9, "cycle/nsecond": 1e9, "cycle/usecond": 1e6},
    "per_cycle": {"inst/cycle": 1.0},
    "share": {"%": 1.0},
}
_FOREIGN: dict[Dimension, tuple[str, ...]] = {
    "byte": ("", "ns", "byte/s", "Xbyte"),
    "time": ("", "cycle", "byte", "Kns"),
    "byte_per_s": ("byte", "%", "register/thread", "byte/"),
    "count": ("%", "unit"),
    "per_cycle": ("inst/s",),
    "share": ("",),
}


@pytest.mark.parametrize(
    ("dimension", "unit", "one"),
    [
        *((dimension, unit, one) for dimension, units in _UNITS.items() for unit, one in units.items()),
        *((dimension, unit, None) for dimension, units in _FOREIGN.items() for unit in units),
    ],
)
def test_units(dimension: Dimension, unit: str, one: float | None) -> None:
    """Prefixes are powers of 1000, parts of a second are small; better no value than one in the wrong unit."""
    found = factors(unit, dimension)
    assert (None if found is None else found[0] / found[1]) == one


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
