"""On a real card: kernels must be linked to the operations as the traces made by hand say."""

from __future__ import annotations

from time import perf_counter

import pytest
import torch
from torch import nn

from pytest_roofline.counting import count_step
from pytest_roofline.profilers.kineto import profile_step
from pytest_roofline.proof.passes import kernel_names

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

DEVICE = torch.device("cuda")


def test_every_kernel_of_a_training_step_belongs_to_an_operation() -> None:
    """Forward, backward (on a thread of its own) and optimiser: nothing of a plain step is left outside."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 36, 10))
    model.to(DEVICE)
    source = torch.randn(64, 3, 8, 8, device=DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        model(source).sum().backward()
        optimizer.step()

    step()
    counted = count_step(step, model=model, optimizer=optimizer)
    result = profile_step(step, DEVICE, counted, compiled=False, clock=perf_counter)
    profile = result.profile
    assert profile is not None, result.missing
    assert (profile.source, profile.outside) == ("kernels", ())
    assert 0 < profile.operations_s < profile.step_s
    assert profile.device_busy_s is not None
    assert profile.longest_gap_s is not None
    # One stream: no two kernels run at the same time, and the gaps lie between them.
    assert profile.device_busy_s <= 1.01 * sum(kernel.time_s for kernel in profile.kernels)
    assert max(kernel.time_s for kernel in profile.kernels) <= 1.01 * profile.device_busy_s < profile.step_s
    assert 0 <= profile.longest_gap_s < profile.step_s
    of_matrices = [one for one in result.operations if one.kind in ("convolution", "matmul")]
    assert of_matrices
    assert all(one.time_s is not None and one.time_s > 0 for one in of_matrices)


def test_a_larger_product_takes_longer() -> None:
    """The times are those of the kernels: a thousandfold of the work shows."""
    small, large = torch.randn(64, 64, device=DEVICE), torch.randn(4096, 4096, device=DEVICE)

    def step() -> None:
        small @ small
        large @ large

    counted = count_step(step, model=nn.Identity())
    result = profile_step(step, DEVICE, counted, compiled=False, clock=perf_counter)
    first, second = (one.time_s for one in result.operations)
    assert first is not None
    assert second is not None
    assert first < second


def test_the_names_of_kernels_leave_our_own_out() -> None:
    """One product is one or two kernels; the one that shows that the profiler sees any is not among them."""
    square = torch.randn(64, 64, device=DEVICE)
    names = kernel_names(lambda: square @ square, DEVICE)
    assert names
    assert not any("fill" in name.lower() for name in names)


def test_an_inference_keeps_its_kernels_where_all_threads_are_seen() -> None:
    """Looking at other threads changes nothing of what is linked to the operations; none of them works for the step."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 36, 10)).to(DEVICE).eval()
    source = torch.randn(64, 3, 8, 8, device=DEVICE)

    def step() -> None:
        with torch.inference_mode():
            model(source)

    step()
    counted = count_step(step, model=model)
    result = profile_step(step, DEVICE, counted, compiled=False, clock=perf_counter, all_threads=True)
    assert result.escaped is None
    assert result.profile is not None, result.missing
    assert result.profile.outside == ()
    assert all(one.time_s for one in result.operations if one.kind in ("convolution", "matmul"))
