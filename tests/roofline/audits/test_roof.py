"""The roof a row is held against: its own, the stated, the published one of exactly its device."""

import pytest

from roofline.audits.figure import exact
from roofline.audits.roof import roof_of
from roofline.audits.row import Roof
from tests.roofline.audits.make import KNOWN, row

A100 = "NVIDIA A100 80GB PCIe"


def test_its_own_roof_goes_before_the_stated_and_that_before_the_published() -> None:
    own = Roof(flop_per_s=exact(1e12), source="measured")
    assert roof_of(row(roof=own, peak_flop_per_s=2e12, device=A100), KNOWN.devices) == own
    stated = roof_of(row(peak_flop_per_s=2e12, device=A100), KNOWN.devices)
    assert stated == Roof(flop_per_s=exact(2e12), source="the stated peak")


@pytest.mark.parametrize(
    ("precision", "flop_per_s"),
    [
        ("fp32", 156e12),  # a table's fp32 may be TF32, which frameworks run convolutions in
        ("tf32", 156e12),
        ("amp", 312e12),
        ("FP64", 19.5e12),
        ("int4", 312e12),  # not known: the highest
        (None, 312e12),
    ],
)
def test_the_published_roof_by_precision(precision: str | None, flop_per_s: float) -> None:
    roof = roof_of(row(device=A100, precision=precision), KNOWN.devices)
    assert roof is not None
    assert roof.flop_per_s == exact(flop_per_s)
    assert roof.source.startswith(A100)


@pytest.mark.parametrize("device", ["A100", "rtx4090", "NVIDIA GeForce RTX 4090 Laptop GPU", None])
def test_no_roof_of_another_device(device: str | None) -> None:
    """A shorthand, a laptop card or no device gets no figure rather than a similar card's."""
    assert roof_of(row(device=device), KNOWN.devices) is None


def test_no_roof_where_none_is_published_for_the_precision() -> None:
    assert roof_of(row(device="NVIDIA GeForce RTX 4060", precision="fp16"), KNOWN.devices) is None
