"""Time in which a rank only waits for messages: none that something else ran in counts."""

from __future__ import annotations

import pytest
import torch

from pytest_roofline.parallel.communication import exposed_s, of_steps
from pytest_roofline.profilers.kineto.recording import Kernel, Recording, Span

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


def stretch(name: str, start_ns: int, end_ns: int) -> Kernel:
    return Kernel(name, start_ns, end_ns, 0)


def test_kernels_of_nccl_beside_no_other_are_exposed() -> None:
    """Of 60 ns, 20 are hidden by a kernel of the backward pass."""
    kernels = (
        stretch("sgemm", 0, 50),
        stretch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 30, 90),
        stretch("adam", 90, 95),
    )
    step = Recording(wall_s=1e-7, thread=1, spans=(), kernels=kernels)
    assert exposed_s(step, CUDA) == pytest.approx(40e-9)


def test_messages_of_gloo_beside_no_operator_are_exposed() -> None:
    """Handing them over is no work beside them."""
    spans = (
        Span("aten::mm", 0, 50, 1, 1),
        Span("c10d::allreduce_", 30, 70, 1, 2),
        Span("aten::add_", 85, 95, 1, 3),
    )
    step = Recording(wall_s=1e-7, thread=1, spans=spans, kernels=(), messages=(stretch("gloo:all_reduce", 30, 90),))
    assert exposed_s(step, CPU) == pytest.approx(35e-9)
    own = of_steps([step], CPU)
    assert (round(own.own_s * 1e9), round(own.exposed_s * 1e9)) == (65, 35)
