"""A matrix product of known size under ncu: does a counter count FLOPs, or half or twice as many?

``python -m pytest_roofline.profilers.ncu.unit_check DTYPE DEVICE``, in a process of its own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_roofline.workload.precision import PRECISIONS, applied
from pytest_roofline.workload.switches import profiled_range

if TYPE_CHECKING:
    import torch

SIZE = 4096
"""Of a square matrix: a multiple of every kernel's tile, so that nothing is computed in vain."""

FLOP = 2.0 * SIZE**3
"""2 M N K: a multiplication and an addition for each."""

DTYPES = {one.name: one.parameters for one in PRECISIONS.values() if one.computes_in == {one.name}}
"""What is multiplied, as torch names it, by what it is computed in."""


def multiply(dtype: str, device: torch.device, size: int = SIZE) -> torch.Tensor:
    """Two products of square matrices; the second is the one that is counted.

    :param dtype: one of `DTYPES`.
    :returns: ``(size, size)``.
    """
    import torch

    one, other = (torch.randn(size, size, device=device, dtype=getattr(torch, DTYPES[dtype])) for _ in range(2))
    with applied(PRECISIONS[dtype]):
        torch.mm(one, other)
        with profiled_range(device, f"check-{dtype}"):
            product = torch.mm(one, other)
    return product


def main(arguments: list[str]) -> None:
    import torch

    dtype, device = arguments
    multiply(dtype, torch.device(device))


if __name__ == "__main__":
    main(sys.argv[1:])
