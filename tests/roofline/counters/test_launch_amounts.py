"""What the metrics of a launch add up to, worked out by hand."""

from __future__ import annotations

import pytest

from roofline.counters.launch_amounts import launch_amounts
from roofline.counters.quantities import DRAM_RATE, NAMES, TIME

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
TENSOR = "sm__ops_path_tensor_src_{}.sum"
CUDA = ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma")
RATE = ".per_cycle_elapsed"
CLOCK = "smsp__cycles_elapsed.avg.per_second"
AMPERE = ("bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp64", "tf32_dst_fp32")


def _sass(**counts: float) -> dict[str, float]:
    return {SASS.format(name): counts.get(name, 0.0) for name in CUDA}


def _tensor(*sources: str, **counts: float) -> dict[str, float]:
    return {TENSOR.format(name): counts.get(name, 0.0) for name in sources}


def test_flop_by_pipe() -> None:
    """One for an add or a multiply, two for both at once; twice that in half precision, where threads hold pairs."""
    found = launch_amounts(
        {
            **_sass(fadd=1, fmul=10, ffma=100, dadd=2, dmul=20, dfma=200, hadd=3, hmul=30, hfma=300),
            **_tensor(*AMPERE, bf16_dst_fp32=7, fp16_dst_fp16=5, fp16_dst_fp32=6),
        },
        compute_capability="8.0",
    )
    assert found.flop_by_pipe == {
        "fp32": 211.0,
        "fp64": 422.0,
        "fp16": 1266.0,
        "tensor_fp64": 0.0,
        "tensor_tf32": 0.0,
        "tensor_bf16": 7.0,
        "tensor_fp16": 11.0,
    }
    assert found.amounts["flop"] == 211 + 422 + 1266 + 7 + 11
    assert found.tensor_cores is True
    assert found.not_counted == ()
    assert "flop" not in found.missing
    assert found.metrics["flop_by_pipe.fp16"].startswith("2 smsp__sass_thread_inst_executed_op_hadd_pred_on.sum + ")


def test_packed_instructions() -> None:
    """2, 2 and 4 FLOP; on compute capability 10 the sum is none without them."""
    packed = {SASS.format(name): 1.0 for name in ("fadd2", "fmul2", "ffma2")}
    tensor = _tensor(*AMPERE, "fp4_dst_fp32", "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32")
    found = launch_amounts({**_sass(ffma=1), **packed, **tensor}, compute_capability="10.0")
    assert found.flop_by_pipe is not None
    assert found.flop_by_pipe["fp32"] == 2 + 2 + 2 + 4
    without = launch_amounts({**_sass(ffma=1), **tensor}, compute_capability="10.0")
    assert without.amounts["flop"] is None
    assert "fadd2" in without.missing["flop"]
    assert launch_amounts({**_sass(ffma=1), **packed}).amounts["flop"] == 10
    assert launch_amounts(_sass(ffma=1)).amounts["flop"] == 2


def test_the_name_differs_with_the_chip() -> None:
    """Half precision has one counter on 9.0, two on 8.x, and others on 7.5."""
    hopper = launch_amounts({**_sass(), **_tensor("fp16", fp16=4)}, compute_capability="9.0")
    turing = _tensor("fp16_bf16_tf32_dst_fp32", "fp16_dst_fp16", fp16_bf16_tf32_dst_fp32=3, fp16_dst_fp16=1)
    assert hopper.amounts["flop"] == 4
    assert launch_amounts({**_sass(), **turing}, compute_capability="7.5").amounts["flop"] == 4


def test_bytes() -> None:
    """Reads and writes are kept apart, and added."""
    found = launch_amounts(
        {
            "dram__bytes_read.sum": 100.0,
            "dram__bytes_write.sum": 20.0,
            "lts__t_bytes.sum": 300.0,
            "l1tex__t_bytes.sum": 400.0,
            "gpu__time_duration.sum": 0.5,
        }
    )
    assert (found.amounts["dram_byte"], found.amounts["dram_read_byte"], found.amounts["dram_write_byte"]) == (
        120.0,
        100.0,
        20.0,
    )
    assert (found.amounts["l2_byte"], found.amounts["l1_byte"], found.amounts["time_s"]) == (300.0, 400.0, 0.5)
    assert found.metrics["dram_byte"] == "dram__bytes_read.sum + dram__bytes_write.sum"
    assert found.metrics["dram_read_byte"] == "dram__bytes_read.sum"


@pytest.mark.parametrize(
    ("metrics", "byte", "metric"),
    [
        ({"dram__bytes.sum": 7.0}, 7.0, "dram__bytes.sum"),
        ({"dram__bytes_op_read.sum": 3.0, "dram__bytes_op_write.sum": 4.0}, 7.0, "dram__bytes_op_read.sum + "),
        ({"dram__sectors_read.sum": 3.0, "dram__sectors_write.sum": 4.0}, 224.0, "32 dram__sectors_read.sum + 32 "),
        ({"dram__sectors.sum": 2.0}, 64.0, "32 dram__sectors.sum"),
        (
            {"dram__bytes.sum.per_second": 2e9, "gpu__time_duration.sum": 0.25},
            5e8,
            "dram__bytes.sum.per_second x gpu__time_duration.sum",
        ),
    ],
)
def test_other_ways_to_the_same_bytes(metrics: dict[str, float], byte: float, metric: str) -> None:
    """A sector is 32 bytes; the rate of one kernel times its own time is its amount."""
    found = launch_amounts(metrics)
    assert found.amounts["dram_byte"] == byte
    assert found.metrics["dram_byte"].startswith(metric)


def test_l2_by_operation() -> None:
    """Sectors of all four operations, or none."""
    ops = {f"lts__t_sectors_op_{op}.sum": 1.0 for op in ("read", "write", "atom", "red")}
    assert launch_amounts(ops).amounts["l2_byte"] == 128
    ops.popitem()
    found = launch_amounts(ops)
    assert found.amounts["l2_byte"] is None
    assert found.missing["l2_byte"] == "lts__t_sectors_op_red.sum was not collected"


def test_flop_from_the_roofline_section() -> None:
    """Instructions a cycle x cycles a second x seconds: what ``--set full`` has of them."""
    rates = {SASS.format(name) + ".per_cycle_elapsed": rate for name, rate in (("fadd", 2), ("fmul", 0), ("ffma", 3))}
    clock = {"smsp__cycles_elapsed.avg.per_second": 1e9, "gpu__time_duration.sum": 1e-3}
    found = launch_amounts({**rates, **clock})
    assert found.flop_by_pipe == {"fp32": 8e6}
    assert found.not_counted[:2] == ("fp64", "fp16")
    without = launch_amounts({**rates, "gpu__time_duration.sum": 1e-3})
    assert without.amounts["flop"] is None
    assert "fp32 is not counted: smsp__cycles_elapsed.avg.per_second was not collected" in without.missing["flop"]


def test_what_is_missing_is_named() -> None:
    """Nothing there is null with the metric to ask for, never 0."""
    found = launch_amounts({})
    assert all(found.amounts[name] is None for name in NAMES)
    assert set(found.missing) >= {*NAMES, "flop_by_pipe"}
    assert found.missing["time_s"] == "gpu__time_duration.sum was not collected"
    assert found.missing["dram_byte"] == "dram__bytes_read.sum was not collected"
    assert found.missing["flop"].startswith("the CUDA cores are not counted: ")
    assert (found.flop_by_pipe, found.tensor_cores) == (None, None)


def test_one_half_is_no_sum() -> None:
    """Reads alone are not the traffic, nor tensor FLOP alone the FLOP."""
    found = launch_amounts({"dram__bytes_read.sum": 1.0}, absent={"dram__bytes_write.sum": "ncu printed 'n/a'"})
    assert (found.amounts["dram_read_byte"], found.amounts["dram_byte"]) == (1.0, None)
    assert found.missing["dram_byte"] == "dram__bytes_write.sum: ncu printed 'n/a'"
    tensor = launch_amounts(_tensor("bf16_dst_fp32"), compute_capability="12.0")
    assert tensor.flop_by_pipe == {"tensor_bf16": 0.0}
    assert tensor.amounts["flop"] is None
    only_fma = launch_amounts({SASS.format("ffma"): 5.0})
    assert only_fma.amounts["flop"] is None
    assert only_fma.missing["flop"] == f"fp32 is not counted: {SASS.format('fadd')} was not collected"


def test_one_that_did_not_answer_takes_only_its_own_pipe() -> None:
    """The others stay, but the sum over all is none."""
    counts = _sass(ffma=4)
    del counts[SASS.format("hmul")]
    found = launch_amounts(counts, absent={SASS.format("hmul"): "ncu printed 'n/a'"})
    assert found.flop_by_pipe == {"fp32": 8.0, "fp64": 0.0}
    assert found.amounts["flop"] is None
    assert found.missing["flop"] == f"fp16 is not counted: {SASS.format('hmul')}: ncu printed 'n/a'"


@pytest.mark.parametrize(
    ("metrics", "absent", "byte"),
    [
        ({"dram__sectors_read.sum": 3.0, "dram__bytes_write.sum": 4.0}, (), 3 * 32 + 4),
        (
            {"dram__bytes_read.sum": 3.0, "dram__bytes_write.sum": 4.0},
            ("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
            7,
        ),
    ],
)
def test_what_is_asked_for_instead_tells_the_same(
    metrics: dict[str, float], absent: tuple[str, ...], byte: float
) -> None:
    """Reads in sectors beside writes in bytes; of two names that were asked for, the one that isn't n/a."""
    found = launch_amounts(metrics, absent=dict.fromkeys(absent, "ncu printed 'n/a'"), compute_capability="12.0")
    assert found.amounts["dram_byte"] == byte
    assert "dram_byte" not in found.missing


def test_halves_of_a_sum_on_a_chip_that_has_the_whole() -> None:
    """Are added up."""
    halves = _tensor("fp16_dst_fp16", "fp16_dst_fp32", fp16_dst_fp16=3, fp16_dst_fp32=4)
    found = launch_amounts({**_sass(), **halves}, compute_capability="9.0")
    assert found.flop_by_pipe is not None
    assert found.flop_by_pipe["tensor_fp16"] == 7


def test_tensor_types_that_an_unknown_chip_does_not_have() -> None:
    """Where others answer, n/a says that the chip has none. Of a known chip it says that something went wrong."""
    counts = {**_sass(), **_tensor("tf32_dst_fp32", tf32_dst_fp32=9)}
    absent = {TENSOR.format("fp8"): "ncu printed 'n/a'"}
    assert launch_amounts(counts, absent=absent).amounts["flop"] == 9
    assert launch_amounts(counts, absent=absent, compute_capability="8.0").amounts["flop"] == 9
    known = launch_amounts(counts, absent=absent, compute_capability="8.9")
    assert known.amounts["flop"] is None
    assert known.missing["flop"].startswith("tensor_fp8 is not counted: ")
    all_refused = launch_amounts(_sass(), absent=absent)
    assert all_refused.amounts["flop"] is None


def test_a_chip_without_a_dram_counter() -> None:
    """Is said to be one, not to lack a metric that could be collected."""
    found = launch_amounts({"gpu__time_duration.sum": 1.0}, compute_capability="12.1")
    assert found.amounts["dram_byte"] is None
    assert found.missing["dram_byte"] == found.missing["dram_read_byte"] == "this chip has no counter of DRAM bytes"


@pytest.mark.parametrize(
    ("metrics", "used"),
    [
        ({"sm__inst_executed_pipe_tensor.sum": 5.0}, True),
        ({"sm__inst_executed_pipe_tensor.sum": 0.0}, False),
        ({"sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active": 12.0}, True),
        ({"sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active": 0.0}, None),
        ({"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": 0.0}, False),
        (_tensor(*AMPERE), False),
        (_tensor(*AMPERE, fp64=1), True),
        (_tensor(*AMPERE[:-1]), None),
        (_tensor("fp16_dst_fp16", fp16_dst_fp16=1), True),
        ({TIME: 0.0, f"{TENSOR.format('fp64')}{RATE}": 1.0}, True),
        ({}, None),
    ],
)
def test_whether_tensor_cores_did_anything(metrics: dict[str, float], used: bool | None) -> None:
    """No, only where every counter of the chip says so, or one of all kinds of operation; yes, where any does,
    even though no amount follows from it.
    """
    assert launch_amounts(metrics, compute_capability="8.0").tensor_cores is used


def test_what_nobody_asked_for_is_told() -> None:
    """A sum without the tensor cores is one of the CUDA cores, and says so."""
    found = launch_amounts(_sass(ffma=1), compute_capability="8.0")
    assert found.amounts["flop"] == 2
    assert found.not_counted == ("tensor_fp64", "tensor_tf32", "tensor_bf16", "tensor_fp16")


@pytest.mark.parametrize("collected", [("fp16_dst_fp16",), ("bf16_dst_fp32", "fp16_dst_fp32", "fp64")])
def test_a_tensor_type_that_was_not_collected_in_full(collected: tuple[str, ...]) -> None:
    """The CUDA cores' FLOP stand, and those of the types that were, as long as the begun one shows nothing."""
    idle = launch_amounts({**_sass(ffma=1), **_tensor(*collected)}, compute_capability="8.0")
    assert idle.amounts["flop"] == 2
    assert "tensor_fp16" in idle.not_counted
    assert "flop" not in idle.missing
    part = collected[1] if len(collected) > 1 else collected[0]
    busy = launch_amounts({**_sass(ffma=1), **_tensor(*collected, **{part: 5.0})}, compute_capability="8.0")
    assert busy.amounts["flop"] is None
    assert busy.missing["flop"].startswith(f"{TENSOR.format(part)} isn't 0")
    other = {name for name in ("fp16_dst_fp16", "fp16_dst_fp32") if name not in collected}.pop()
    refused = launch_amounts(
        {**_sass(ffma=1), **_tensor(*collected)}, absent={TENSOR.format(other): "n/a"}, compute_capability="8.0"
    )
    assert refused.amounts["flop"] is None


@pytest.mark.parametrize(
    ("metrics", "time_s"),
    [
        ({"sm__cycles_elapsed.avg": 9000, "sm__cycles_elapsed.avg.per_second": 1.26e9}, 9000 / 1.26e9),
        ({"smsp__cycles_elapsed.avg": 9000, "smsp__cycles_elapsed.avg.per_second": 1.26e9}, 9000 / 1.26e9),
        ({"gpu__time_active.sum": 5e-6, "sm__cycles_elapsed.avg": 9000, CLOCK: 1e9}, 5e-6),
        ({TIME: 7e-6, "gpu__time_active.sum": 5e-6}, 7e-6),
        ({"sm__cycles_elapsed.avg": 9000}, None),
        ({"sm__cycles_elapsed.avg": 9000, "sm__cycles_elapsed.avg.per_second": 0.0}, None),
        ({"sm__cycles_elapsed.avg": 0.0, "sm__cycles_elapsed.avg.per_second": 1e9}, None),
    ],
)
def test_time_without_a_duration(metrics: dict[str, float], time_s: float | None) -> None:
    """Of a launch its cycles over their rate, where neither is 0."""
    found = launch_amounts(metrics)
    assert found.amounts["time_s"] == (None if time_s is None else pytest.approx(time_s))
    assert ("time_s" in found.missing) == (time_s is None)


def test_a_time_that_can_not_be_read_is_no_reason_for_bytes_that_nobody_asked_for() -> None:
    """It is where a rate was asked for that is multiplied with it."""
    absent = {TIME: "its unit 'furlong' is not one of time"}
    assert launch_amounts({}, absent=absent).missing["dram_byte"] == "dram__bytes_read.sum was not collected"
    asked = launch_amounts({DRAM_RATE: 1.0}, absent=absent)
    assert asked.missing["dram_byte"] == f"{TIME}: {absent[TIME]}"


@pytest.mark.parametrize("stopped", [TIME, CLOCK])
def test_a_rate_over_a_time_or_a_clock_of_0_is_no_amount(stopped: str) -> None:
    """Not 0, for something was computed: a launch takes time and cycles."""
    rates = {f"{name}{RATE}": 2.0 for name in _sass()}
    found = launch_amounts({TIME: 1e-6, CLOCK: 1e9, DRAM_RATE: 1e11, **rates, stopped: 0.0}, compute_capability="8.0")
    assert (found.amounts["flop"], found.flop_by_pipe) == (None, None)
    assert found.missing["flop"].endswith(f"{stopped}: 0: it was rounded, for a launch takes time")
    assert found.amounts["dram_byte"] == (None if stopped == TIME else pytest.approx(1e5))
    assert found.amounts["time_s"] == (None if stopped == TIME else 1e-6)


def test_an_amount_of_its_own_needs_no_time() -> None:
    """A time that rounds to 0 takes nothing from what was counted directly."""
    found = launch_amounts({TIME: 0.0, DRAM_RATE: 1e11, "dram__bytes.sum": 5.0, **_sass(ffma=1)})
    assert (found.amounts["dram_byte"], found.amounts["flop"]) == (5, 2)


def test_of_two_clocks_that_which_is_not_0_counts() -> None:
    """Whichever it is: a launch has one clock."""
    rates = {f"{name}{RATE}": 2.0 for name in _sass()}
    clocks = (CLOCK, "sm__cycles_elapsed.avg.per_second")
    both, either = (dict(zip(clocks, one, strict=True)) for one in ((1e9, 1e9), (0.0, 1e9)))
    swapped = dict(zip(reversed(clocks), either.values(), strict=True))
    amounts = [launch_amounts({TIME: 1e-6, **rates, **one}).amounts["flop"] for one in (both, either, swapped)]
    assert amounts == [pytest.approx(2e3 * (4 + 4 + 8))] * 3
    assert launch_amounts({TIME: 1e-6, **rates, **dict.fromkeys(clocks, 0.0)}).amounts["flop"] is None
