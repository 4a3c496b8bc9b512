"""Under autocast a step is counted in the precision it runs in, fused or not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.counting import count_step

Forward = Callable[[nn.Module, Tensor], Tensor]


def _first(model: nn.Module, batch: Tensor) -> Tensor:
    output: Tensor = model(batch)[0]
    return output


def _itself(model: nn.Module, batch: Tensor) -> Tensor:
    output: Tensor = model(batch, batch, batch)[0]
    return output


def _whole(model: nn.Module, batch: Tensor) -> Tensor:
    output: Tensor = model(batch)
    return output


class Mixed(nn.Module):
    """A product of fp32 with bf16, which a CPU's autocast casts inside of ``einsum`` and CUDA's before it."""

    def forward(self, batch: Tensor) -> Tensor:
        return torch.einsum("bij,bkj->bik", batch, batch.bfloat16())


CASES = [
    pytest.param(Mixed(), _whole, id="einsum"),
    pytest.param(nn.LSTM(16, 8, batch_first=True), _first, id="LSTM"),
    pytest.param(nn.GRU(16, 8, batch_first=True), _first, id="GRU"),
    pytest.param(nn.RNN(16, 8, batch_first=True), _first, id="RNN"),
    pytest.param(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), _whole, id="encoder layer"),
    pytest.param(nn.MultiheadAttention(16, 4, batch_first=True), _itself, id="attention"),
    pytest.param(nn.Linear(16, 8), _whole, id="linear"),
]


@pytest.mark.parametrize("gradients", [False, True], ids=["inference", "with gradients"])
@pytest.mark.parametrize(("model", "forward"), CASES)
def test_matrix_arithmetic_is_in_bf16(model: nn.Module, forward: Forward, gradients: bool) -> None:
    """All of it, also of operations that autocast leaves alone and that cast what they call; the result is the same."""
    model.eval()
    batch = torch.randn(2, 4, 16)
    outputs: list[Tensor] = []

    def step() -> None:
        with torch.inference_mode(not gradients), torch.autocast("cpu", torch.bfloat16):
            outputs.append(forward(model, batch))

    step()
    counted = count_step(step, model=model)
    assert set(counted.flop_by_dtype) == {"bf16"}
    uncounted, under_the_count = outputs
    assert under_the_count.dtype == uncounted.dtype
    assert torch.equal(under_the_count, uncounted)


def test_without_autocast_nothing_is_cast() -> None:
    """What autocast would cast stays in fp32 outside of it, and where it is switched off inside."""
    model = nn.LSTM(16, 8, batch_first=True)

    def step() -> None:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16), torch.autocast("cpu", enabled=False):
            model(torch.randn(2, 4, 16))

    assert set(count_step(step, model=model).flop_by_dtype) == {"fp32"}
