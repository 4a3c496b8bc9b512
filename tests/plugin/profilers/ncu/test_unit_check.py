"""The matrix product by which the counters' unit is checked."""

from __future__ import annotations

import pytest
import torch

from pytest_roofline.profilers.ncu import unit_check
from pytest_roofline.profilers.ncu.unit_check import DTYPES, multiply
from pytest_roofline.workload.precision import PRECISIONS


def test_every_precision_has_its_product() -> None:
    """Whatever a case computes in can be checked."""
    assert frozenset().union(*(precision.computes_in for precision in PRECISIONS.values())) == DTYPES.keys()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_product_is_of_the_dtype(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one of the two is in the range that is counted."""
    inside: list[bool] = []

    class Range:
        def __init__(self, device: torch.device, name: str) -> None:
            assert (device, name) == (torch.device("cpu"), f"check-{dtype}")

        def __enter__(self) -> None:
            inside.append(True)

        def __exit__(self, *_: object) -> None:
            inside.pop()

    products: list[bool] = []
    mm = torch.mm
    monkeypatch.setattr(unit_check, "profiled_range", Range)
    monkeypatch.setattr(torch, "mm", lambda *of: (products.append(bool(inside)), mm(*of))[1])
    product = multiply(dtype, torch.device("cpu"), size=8)
    assert (product.shape, product.dtype) == ((8, 8), getattr(torch, DTYPES[dtype]))
    assert products == [False, True]
