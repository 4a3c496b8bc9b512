"""The built-in LSTM and Transformer encoder, and their work in closed form."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from perftests import models
from pytest_roofline.complexity.fake import fake_model, fake_workload
from pytest_roofline.counting import count_step
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import Step

TOKENS, HIDDEN, CLASSES = models.SEQUENCE_TOKENS, 256, 10

LSTM = 2 * TOKENS * 2 * 4 * HIDDEN * (HIDDEN + HIDDEN) + 2 * HIDDEN * CLASSES
"""Matrix FLOP of a sequence, forward: two layers of four gates, each of input and state; then the head."""

ENCODER = 2 * (TOKENS * 2 * (4 * HIDDEN**2 + 2 * HIDDEN * 1024) + 2 * 2 * TOKENS**2 * HIDDEN) + 2 * HIDDEN * CLASSES
"""Two layers: four projections and two of the feed-forward for each token, two products of attention; then the head."""


def flop(name: str, mode: str, precision: str) -> dict[str, float]:
    spec = models.find(name)
    with FakeTensorMode(allow_non_fake_inputs=True) as fakes:
        model = fake_model(spec, PRECISIONS[precision], fakes)
        workload = fake_workload(spec, model, batch=3, mode=mode, precision=PRECISIONS[precision])  # type: ignore[arg-type]
        counted = count_step(Step(workload), model=model, optimizer=workload.optimizer)
    return {dtype: value for dtype, value in counted.flop_by_dtype.items() if value}


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", "fp32"), ("amp_bf16", "bf16"), ("bf16", "bf16")])
@pytest.mark.parametrize(("name", "expected"), [("lstm", LSTM), ("transformer_encoder", ENCODER)])
def test_inference_in_closed_form(name: str, expected: int, precision: str, dtype: str) -> None:
    """Fused or not, in every precision: the same products, in the precision's dtype."""
    assert flop(name, "infer", precision) == {dtype: 3 * expected}


@pytest.mark.parametrize(("name", "forward"), [("lstm", LSTM), ("transformer_encoder", ENCODER)])
def test_training_is_three_times_that(name: str, forward: int) -> None:
    """Every product has two in backward; the embedding has none, but its output has a gradient."""
    counted = flop(name, "train", "fp32")
    # The first two products of attention have two in backward as well; a fused one recomputes the first.
    assert counted["fp32"] >= 3 * 3 * forward
    assert counted["fp32"] <= 3 * 3.02 * forward


@pytest.mark.parametrize("name", ["lstm", "transformer_encoder"])
def test_they_train(name: str) -> None:
    """A loss that falls on one batch seen often."""
    torch.manual_seed(0)
    spec = models.find(name)
    model = spec.build()
    tokens, target = torch.randint(spec.vocabulary or 0, (4, *spec.input_shape)), torch.arange(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = spec.loss(model(tokens), target)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
