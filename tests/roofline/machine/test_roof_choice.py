"""A result is held against measured roofs, else those published for exactly its device, else none."""

import math
from pathlib import Path

import pytest

from roofline.machine.published import DeviceTable, load
from roofline.machine.roof_choice import Roofs, doubts, roofs_of
from roofline.schema.record import Device
from roofline.schema.session import Roof
from tests.roofline import build


@pytest.fixture(scope="module")
def table() -> DeviceTable:
    return load()


def _of(tmp_path: Path, device: Device, measured: tuple[Roof, ...], table: DeviceTable) -> Roofs:
    result = build.result(
        tmp_path / "a.json", [build.record(device=device)], of=build.session(measured), on=build.machine(device=device)
    )
    return roofs_of(result, device, table)


def test_measured_before_published(tmp_path: Path, table: DeviceTable) -> None:
    """What this machine reaches counts, though the vendor prints more; what wasn't measured is taken from the table."""
    roofs = _of(tmp_path, build.CUDA, (build.roof("flop", "bf16", 262e12),), table)
    assert roofs.value("flop", "bf16") == 262e12
    assert roofs.value("flop", "tf32") == 156e12
    assert roofs.source_of(["bf16"]) == "measured"
    assert roofs.source_of(["tf32"]) == "spec"
    assert roofs.source_of(["bf16", "dram"]) == "mixed"
    assert roofs.source_of(["fp8"]) is None


def test_a_cache_slower_than_memory_is_told(tmp_path: Path, table: DeviceTable) -> None:
    """A machine that was busy: its figure stays in the table with a notice, and DRAM alone is a level."""
    roofs = _of(tmp_path, build.CPU, (build.roof("byte", "dram", 2e10), build.roof("byte", "llc", 1.5e10)), table)
    assert [roof.name for roof in roofs.levels] == ["dram"]
    assert roofs.value("byte", "llc") == 1.5e10
    assert roofs.notices == (
        "Doubtful roofs, to be measured again on an idle machine: llc (15.0 GB/s, less than dram's 20.0 GB/s)."
        " DRAM's roof stands for the cache's, too.",
    )
    good = _of(tmp_path, build.CPU, (build.roof("byte", "dram", 2e10), build.roof("byte", "llc", 3e10)), table)
    assert [roof.name for roof in good.levels] == ["dram", "llc"]
    assert good.notices == ()


@pytest.mark.parametrize(
    ("roof", "why"),
    [
        (build.roof("flop", "fp32", 1e12), None),
        (build.roof("flop", "fp32", 1e12, disturbed="20 ms stolen"), "20 ms stolen"),
        (build.roof("flop", "fp32", 1e12, spread=0.2), "its samples differ by 20 %"),
        (build.roof("flop", "fp32", 1.3e12), "1.30 TFLOP/s, 1.00 TFLOP/s are published"),
        (build.roof("flop", "fp32", 1.3e12, source="spec"), None),
        (build.roof("byte", "dram", 1e10), "10.0 GB/s, less than host_to_device's 25.0 GB/s"),
    ],
)
def test_why_a_roof_is_doubtful(roof: Roof, why: str | None) -> None:
    """Beside a link of 25 GB/s, and a published 1 TFLOP/s of which a clock explains 1.25 times."""
    found = doubts((roof, build.roof("byte", "host_to_device", 25e9)), (build.roof("flop", "fp32", 1e12),))
    assert found == ({} if why is None else {roof.name: why})


def test_published_without_measured(tmp_path: Path, table: DeviceTable) -> None:
    """A run that left the roof tests out has the vendor's figures, and says so."""
    roofs = _of(tmp_path, build.CUDA, (), table)
    assert roofs.value("byte", "dram") == 2039e9
    assert roofs.source_of(["fp32", "dram"]) == "spec"


def test_unknown_device_has_none_and_says_what_to_do(tmp_path: Path, table: DeviceTable) -> None:
    """No roof is better than another card's."""
    roofs = _of(tmp_path, build.CPU, (), table)
    assert roofs.roofs == ()
    assert roofs.why_none is not None
    assert "none published for 'AMD EPYC 7B13'" in roofs.why_none
    assert "--devices FILE" in roofs.why_none


def test_a_laptop_card_says_why(tmp_path: Path, table: DeviceTable) -> None:
    """The table's note explains why there is no figure."""
    device = Device(kind="cuda", name="NVIDIA GeForce RTX 4090 Laptop GPU")
    roofs = _of(tmp_path, device, (), table)
    assert roofs.roofs == ()
    assert "depends on the power limit" in (roofs.why_none or "")


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_useless_measured_roof_is_none(tmp_path: Path, table: DeviceTable, value: float) -> None:
    """Zero, negative and non-finite values are no ceilings."""
    roofs = _of(tmp_path, build.CPU, (build.roof("flop", "fp32", value),), table)
    assert roofs.roofs == ()


def test_mixture_is_weighted_by_flop() -> None:
    """Total / sum(FLOP of a dtype / its roof): 1e12 at 1e12/s and 1e12 at 4e12/s take 1.25 s, which is 1.6e12/s."""
    roofs = Roofs(roofs=(build.roof("flop", "fp32", 1e12), build.roof("flop", "tf32", 4e12)))
    assert roofs.compute_flop_per_s({"fp32": 1e12, "tf32": 1e12}) == pytest.approx(1.6e12, rel=1e-12)
    assert roofs.compute_flop_per_s({"fp32": 1e12, "tf32": 0.0}) == 1e12
    assert Roofs(roofs=(build.roof("flop", "fp32", 121e9),)).compute_flop_per_s({"fp32": 86201280000.0}) == 121e9


def test_a_dtype_without_roof_has_no_mixture() -> None:
    """Another dtype's roof would be a wrong ceiling; a dtype that did nothing doesn't matter."""
    roofs = Roofs(roofs=(build.roof("flop", "fp32", 1e12),))
    assert roofs.compute_flop_per_s({"fp32": 1.0, "bf16": 1.0}) is None
    assert roofs.missing({"fp32": 1.0, "bf16": 1.0, "fp16": 0.0}) == ("bf16",)
    assert roofs.compute_flop_per_s({}) is None
