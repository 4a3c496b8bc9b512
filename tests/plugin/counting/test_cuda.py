"""Kernels that only a CUDA device runs: names and arguments must be those torch really dispatches there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from pytest_roofline.counting import Counted, count_step
from pytest_roofline.counting.step_memory import held_before, stored_byte

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

ATTENTION = 12_582_912


@pytest.mark.parametrize(
    ("back_end", "backward"),
    [
        (SDPBackend.FLASH_ATTENTION, 5),
        (SDPBackend.EFFICIENT_ATTENTION, 5),
        (SDPBackend.CUDNN_ATTENTION, 5),
        (SDPBackend.MATH, 4),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_attention(back_end: Any, backward: int, count: Callable[..., Counted]) -> None:
    """Forward and backward on every back end."""
    query, key, value = (
        torch.randn(1, 12, 64, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)
    )
    with sdpa_kernel(back_end):
        try:
            functional.scaled_dot_product_attention(query, key, value)
        except RuntimeError:
            pytest.skip(f"{back_end.name} does not run on this card")
        counted = count(lambda: functional.scaled_dot_product_attention(query, key, value).sum().backward())
    assert counted.work.uncovered == ()
    assert counted.work.flop_per_step == ATTENTION + backward * ATTENTION / 2


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_recurrent(kind: Any, gates: int, inference: bool, count: Callable[..., Counted]) -> None:
    """cuDNN's fused layers, training included."""
    layer = kind(8, 16, num_layers=2, bidirectional=True, device="cuda")
    source = torch.randn(5, 2, 8, device="cuda")
    forward = 2 * 10 * 2 * gates * 16 * ((8 + 16) + (32 + 16))

    def step() -> None:
        result = layer(source)[0]
        if not inference:
            result.sum().backward()

    with torch.inference_mode(inference):
        counted = count(step, model=layer)
    assert counted.work.uncovered == ()
    assert counted.work.flop_per_step == forward * (1 if inference else 3)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_convolution_network(layout: torch.memory_format, count: Callable[..., Counted]) -> None:
    """Grouped and plain, with batch norm and a fused optimiser, under autocast; everything on the device."""
    model = nn.Sequential(
        nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, groups=4)
    ).to("cuda", memory_format=layout)
    source = torch.randn(4, 8, 16, 16, device="cuda").to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(source).float().sum()
        loss.backward()
        optimizer.step()

    step()
    counted = count(step, model=model, optimizer=optimizer, last_level_cache_byte=1 << 20)
    positions = 4 * 16 * 16
    first, second = positions * 16 * 8 * 9, positions * 16 * 4 * 9
    assert counted.flop_by_dtype == {"bf16": 2.0 * (2 * first + 3 * second)}
    assert counted.work.uncovered == ()
    assert set(counted.devices) == {"cuda"}
    assert 0 < counted.work.byte_low_per_step <= counted.work.byte_high_per_step


def test_encoder_layer_fast_path(count: Callable[..., Counted]) -> None:
    """One fused operation here too."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, device="cuda").eval()
    source = torch.randn(2, 16, 64, device="cuda")
    with torch.inference_mode():
        counted = count(lambda: layer(source), model=layer)
    assert counted.work.flop_per_step == 2_228_224


IMAGE, GRID = (2, 4, 8, 8), (2, 5, 6, 2)

OWN: dict[str, Callable[[], Any]] = {
    "cuDNN's grid sampling": lambda: functional.grid_sample(
        torch.randn(IMAGE, device="cuda", requires_grad=True),
        torch.rand(GRID, device="cuda", requires_grad=True),
        align_corners=True,
    ),
    "affine grid": lambda: functional.affine_grid(
        torch.randn(2, 2, 3, device="cuda", requires_grad=True), [2, 4, 5, 6], align_corners=True
    ),
    "lstm cell": lambda: nn.LSTMCell(8, 16, device="cuda")(torch.randn(2, 8, device="cuda"))[0],
    "gru cell": lambda: nn.GRUCell(8, 16, device="cuda")(torch.randn(2, 8, device="cuda")),
    "bags": lambda: nn.EmbeddingBag(9, 4, device="cuda")(torch.tensor([[1, 2], [3, 3]], device="cuda")),
    "interpolation": lambda: functional.interpolate(
        torch.randn(IMAGE, device="cuda", requires_grad=True), size=3, mode="bilinear", antialias=True
    ),
    "transform": lambda: torch.fft.rfft2(torch.randn(IMAGE, device="cuda", requires_grad=True)).abs(),
    "solution": lambda: torch.linalg.solve(
        torch.eye(4, device="cuda").requires_grad_(), torch.ones(4, 2, device="cuda")
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_operations_of_its_own_have_formulas(name: str, count: Callable[..., Counted]) -> None:
    """Forward and backward."""
    counted = count(lambda: OWN[name]().sum().backward())
    assert counted.work.uncovered == ()
    assert counted.work.other_flop_per_step is not None
    assert counted.work.other_flop_per_step + counted.work.flop_per_step > 0


def test_the_predicted_peak_is_what_the_device_reports() -> None:
    """Beside what libraries keep for themselves, which was there before; blocks are rounded up a little."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(2048, 2048), nn.ReLU()) for _ in range(4)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    source = torch.randn(8192, 2048, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        model(source).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    predicted = count_step(step, model=model, optimizer=optimizer, held=[source]).peak_byte
    torch.cuda.synchronize()
    held = stored_byte((*held_before(model, optimizer), source))
    kept_by_libraries = torch.cuda.memory_allocated() - held
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    assert predicted == pytest.approx(torch.cuda.max_memory_allocated() - kept_by_libraries, rel=0.01)
