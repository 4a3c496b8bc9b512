"""Labels are numbered as operations are counted: else a time would go to another operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from pytest_roofline.counting import count_step
from pytest_roofline.profilers.kineto.recording import LABEL, LabelMode, Recording, record


def labelled(step: Callable[[], object]) -> tuple[list[str], Recording]:
    mode = LabelMode()

    def run() -> None:
        with mode:
            step()

    (recording,) = record(run, torch.device("cpu"), clock=lambda: 0.0, enough=lambda _: True)
    return mode.names, recording


class Checkpointed(nn.Module):
    """Runs its layer again in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(6, 6), nn.GELU())

    def forward(self, source: Tensor) -> Any:
        return checkpoint(self.layer, source, use_reentrant=False)


def _convolutions() -> tuple[nn.Module, Tensor]:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    return nn.Sequential(model, nn.Linear(36, 6)), torch.randn(2, 3, 8, 8)


def _encoder() -> tuple[nn.Module, Tensor]:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(2, 5, 8)


def _recurrent() -> tuple[nn.Module, Tensor]:
    return nn.LSTM(6, 4, batch_first=True), torch.randn(2, 5, 6)


def _checkpointed() -> tuple[nn.Module, Tensor]:
    return Checkpointed(), torch.randn(3, 6)


@pytest.fixture(params=[_convolutions, _encoder, _recurrent, _checkpointed], ids=lambda make: make.__name__.strip("_"))
def parts(request: pytest.FixtureRequest) -> tuple[nn.Module, Tensor]:
    make: Callable[[], tuple[nn.Module, Tensor]] = request.param
    return make()


@pytest.mark.parametrize("autocast", [False, True])
def test_a_training_step_is_numbered_as_it_is_counted(parts: tuple[nn.Module, Tensor], autocast: bool) -> None:
    """Whole steps: forward, backward, clipping and a stateful optimiser, over what counting's own hooks add."""
    model, source = parts
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            output = model(source)
        (output[0] if isinstance(output, tuple) else output).float().sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    step()
    counted = count_step(step, model=model, optimizer=optimizer)
    names, _ = labelled(step)
    assert names == [leaf.name for leaf in counted.leaves]
    assert len(names) > len(list(model.parameters()))


def test_inference_is_numbered_as_it_is_counted(parts: tuple[nn.Module, Tensor]) -> None:
    """Composite operations, which arrive undivided, are taken apart in both; labels change nothing but time."""
    model, source = parts
    found: list[Any] = []

    def step() -> None:
        with torch.inference_mode():
            output = model.eval()(source)
        found.append(output[0] if isinstance(output, tuple) else output)

    counted = count_step(step, model=model)
    names, _ = labelled(step)
    assert names == [leaf.name for leaf in counted.leaves]
    assert names
    assert torch.equal(found[0], found[1])


def test_leaves_say_which_operation_they_belong_to() -> None:
    """In order; alike ones share one; what does nothing belongs to none."""
    left, right = torch.randn(3, 4), torch.randn(4, 3)

    def step() -> None:
        first = left @ right
        torch.empty(5)
        functional.relu(first)
        left @ right

    counted = count_step(step, model=nn.Identity())
    assert [operation.name for operation in counted.operations] == ["aten::mm", "aten::relu"]
    assert [(leaf.name, leaf.operation, leaf.uncovered) for leaf in counted.leaves] == [
        ("aten::mm", 0, False),
        ("aten::empty", None, False),
        ("aten::relu", 1, False),
        ("aten::mm", 0, False),
    ]


def test_views_have_labels_without_a_number() -> None:
    """How many of them there are depends on who looks on, so that they can't be counted along."""
    square = torch.randn(4, 4)
    names, recording = labelled(lambda: square.t() @ square)
    labels = [span.name for span in sorted(recording.spans, key=lambda span: span.start_ns) if LABEL in span.name]
    assert names == ["aten::mm"]
    assert labels == [LABEL, f"{LABEL}0"]
