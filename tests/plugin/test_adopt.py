"""Making a workload of what a test brings: what is converted, what is left alone, and what is refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline import precision as precisions
from pytest_roofline.adopt import NotSupported, adopt
from pytest_roofline.fixture import Defaults
from pytest_roofline.workload import Step, Workload

CPU = torch.device("cpu")


def adopted(model: nn.Module, *inputs: Tensor, target: Tensor | None = None, **defaults: Any) -> Workload:
    return adopt(
        model,
        inputs,
        target=target,
        loss=None,
        optimizer=None,
        config={},
        name="model",
        defaults=Defaults(**defaults),
        device=CPU,
    )


class Spectral(nn.Module):
    """A layer as in a Fourier neural operator: complex weights, and a real buffer beside them."""

    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((9,), 1 + 2j))
        self.register_buffer("phase", torch.full((9,), 1j))
        self.register_buffer("scale", torch.ones(16, dtype=torch.float64))

    def forward(self, rows: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(rows) * self.weight * self.phase
        rows = torch.fft.irfft(spectrum, n=16)
        return rows * self.scale


def test_complex_parameters_stay_complex() -> None:
    """With the same values and result as without us; real ones get the precision's dtype."""
    rows = torch.arange(32.0).reshape(2, 16)
    expected = Spectral()(rows).float()
    workload = adopted(Spectral(), rows)
    assert isinstance(workload.model, Spectral)
    dtypes = [workload.model.weight.dtype, workload.model.phase.dtype, workload.model.scale.dtype]
    assert dtypes == [torch.complex64, torch.complex64, torch.float32]
    step = Step(workload)
    step()
    assert torch.equal(step.last, expected)


def test_a_precision_that_complex_parameters_do_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By name, on whatever device runs it natively."""
    monkeypatch.setattr(precisions, "unsupported", lambda *_: None)
    with pytest.raises(NotSupported, match="bf16 would need weight in bfloat16, but it is complex"):
        adopted(Spectral(), torch.ones(2, 16), precision="bf16")


@pytest.mark.parametrize(
    ("name", "dtype"), [("fp32", torch.float32), ("amp_bf16", torch.float32), ("bf16", torch.bfloat16)]
)
def test_real_parameters_get_the_dtype_of_the_precision(
    name: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running statistics too; what is counted in integers stays so."""
    monkeypatch.setattr(precisions, "unsupported", lambda *_: None)
    model = adopted(nn.BatchNorm1d(3, dtype=torch.float64), torch.ones(2, 3), precision=name).model
    state = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    real = dict.fromkeys(("weight", "bias", "running_mean", "running_var"), dtype)
    assert state == {**real, "num_batches_tracked": torch.int64}


def test_tensors_without_data_are_refused() -> None:
    """A model or an input on meta."""
    with pytest.raises(ValueError, match=r"weight of the model is on the device meta.*to_empty"):
        adopted(nn.Linear(4, 3, device="meta"), torch.ones(2, 4))
    with pytest.raises(ValueError, match="an input or the target is on the device meta"):
        adopted(nn.Linear(4, 3), torch.ones(2, 4, device="meta"))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_nested_tensors_without_a_shape_are_refused() -> None:
    """With what to use instead."""
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.strided)
    with pytest.raises(ValueError, match=r"an input is a nested tensor of the strided layout.*layout=torch\.jagged"):
        adopted(nn.Linear(4, 3), nested)


def test_training_needs_something_to_train() -> None:
    """A frozen model is told apart from one without parameters."""
    rows, target = torch.ones(2, 4), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ValueError, match="none of its 15 parameters is trainable"):
        adopted(nn.Linear(4, 3).requires_grad_(False), rows, target=target, mode="train")
    with pytest.raises(ValueError, match="training needs a model with parameters"):
        adopted(nn.Identity(), rows, target=target, mode="train")
