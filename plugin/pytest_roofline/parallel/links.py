"""The links between ranks as roofs: the bus bandwidth of an all-reduce by the size of its message.

Bus bandwidth = 2 (n - 1) / n x bytes / time of n ranks: what the slowest link carries, whatever n is (NVIDIA,
nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pytest_roofline.measuring.rounds import Alone
from pytest_roofline.parallel.ranks import Ranks
from pytest_roofline.roofs.kernels import Candidate, RoofPlan, RoofUnavailable

if TYPE_CHECKING:
    import torch

NAMES = {
    f"all_reduce-{size}": byte
    for size, byte in {"1KiB": 2**10, "32KiB": 2**15, "1MiB": 2**20, "32MiB": 2**25, "256MiB": 2**28}.items()
}
"""Roof -> bytes of the message: from what latency limits to more than a bucket of gradients, 25 MiB in torch."""


def plan(name: str, device: torch.device, ranks: Alone) -> RoofPlan:
    """Say how the link is measured for a roof of `NAMES`.

    :raises RoofUnavailable: there is one process only.
    """
    if not isinstance(ranks, Ranks):
        raise RoofUnavailable("one process has no link to others: start several with torchrun")
    byte = NAMES[name]
    return RoofPlan(
        "link",
        f"{name}-{ranks.place.suffix}",
        "bus bandwidth, 2 (n - 1) / n x bytes / time of n ranks",
        "fp32",
        (
            Candidate(
                f"{ranks.backend} all_reduce",
                2 * (ranks.count - 1) / ranks.count * byte,
                partial(_prepare, byte, device),
            ),
        ),
    )


def _prepare(byte: int, device: torch.device) -> Callable[[], object]:
    import torch
    from torch import distributed

    numbers = torch.zeros(byte // 4, device=device)
    return lambda: distributed.all_reduce(numbers)
