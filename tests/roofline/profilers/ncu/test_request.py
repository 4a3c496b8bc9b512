"""What is told with the metrics to ask for: of a chip that isn't known, and of one that lacks something."""

from __future__ import annotations

import pytest

from roofline.counters.quantities import LISTED, byte_metrics, flop_metrics
from roofline.profilers.ncu.ncu_tables import request

BYTES = "bytes and time, in a run of their own"
CUDA = "FLOP of CUDA cores alone"
ALL = "FLOP of CUDA cores and tensor cores"


def shown(capability: str) -> tuple[list[str], dict[str, str]]:
    """What stands before the lists, and the lists by heading."""
    lines = request(capability).splitlines()
    assert len(lines) >= 6
    return lines[:-6], dict(zip(lines[-6::2], lines[-5::2], strict=True))


@pytest.mark.parametrize("capability", ["8.0", "8.6", "8.9", "9.0"])
def test_of_a_chip_of_which_all_is_known(capability: str) -> None:
    """Nothing but the lists, with the passes they take."""
    assert shown(capability) == (
        [],
        {
            f"{BYTES} (one pass):": f"--metrics {','.join(byte_metrics(capability))}",
            f"{CUDA} (one pass):": f"--metrics {','.join(flop_metrics(capability, tensor=False))}",
            f"{ALL} (5 passes):": f"--metrics {','.join(flop_metrics(capability, tensor=True))}",
        },
    )


@pytest.mark.parametrize("capability", sorted(set(LISTED) - {"8.0", "8.6", "8.9", "9.0"}))
def test_no_number_of_passes_is_made_up(capability: str) -> None:
    """Where it isn't known how many the tensor cores' counters take."""
    assert f"{ALL}:" in shown(capability)[1]


@pytest.mark.parametrize(
    ("capability", "whose"), [("13.0", "any of them"), ("8.7", "8.6, the next older one of its generation")]
)
def test_a_chip_that_is_not_known_is_told(capability: str, whose: str) -> None:
    """With those that are, whose names these are, and what to do with one that ncu refuses; no number of passes."""
    (told,), lists = shown(capability)
    assert told.startswith(f"The counters of compute capability {capability} are not known here, only those of 7.5, ")
    assert f"The names below are those of {whose}; how many passes they take isn't known." in told
    assert "failed to find a metric has counted nothing: leave that one out." in told
    assert list(lists) == [f"{BYTES}:", f"{CUDA}:", f"{ALL}:"]


def test_a_chip_without_a_dram_counter_is_told() -> None:
    """With what can't be had; so is one that is taken for it."""
    lacks = (
        "Compute capability 12.1 has no counter of DRAM bytes: neither a kernel's traffic nor its intensity"
        " (FLOP/byte) can be counted."
    )
    told, lists = shown("12.1")
    assert told == [lacks]
    assert next(iter(lists)) == "bytes of L2 and L1 and time, in a run of their own (one pass):"
    assert not any("dram" in metrics for metrics in lists.values())
    unknown, told_of_other = shown("12.3")[0]
    assert unknown.startswith("The counters of compute capability 12.3 are not known here")
    assert told_of_other == lacks


def test_of_two_names_one_may_be_refused() -> None:
    """Both are asked for, and it is told what to do then."""
    (told,), lists = shown("12.0")
    assert told.startswith("Which of two names the DRAM counters of 12.0 have depends on the ncu. An ncu that says")
    assert "dram__bytes_op_read.sum,dram__bytes_read.sum" in lists[f"{BYTES} (one pass):"]
