"""Making a workload of what a test brings: what is converted, what is left alone, and what is refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.fixture import Defaults
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.own_model import NotSupported, adopt
from pytest_roofline.workload.step import Step, Workload

CPU = torch.device("cpu")


def adopted(
    model: nn.Module,
    *inputs: Tensor,
    target: Any = None,
    loss: Any = None,
    optimizer: Any = None,
    config: Any = None,
    **defaults: Any,
) -> Workload:
    return adopt(
        model,
        inputs,
        target=target,
        loss=loss,
        optimizer=optimizer,
        config=config or {},
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
    for model, source in (
        (nn.Linear(4, 3, device="meta"), torch.ones(2, 4)),
        (nn.Linear(4, 3), torch.ones(2, 4, device="meta")),
    ):
        with pytest.raises(ValueError, match=r"is on the device meta.*to_empty"):
            adopted(model, source)


def test_training_needs_something_to_train() -> None:
    """A frozen model has nothing, and one without parameters."""
    rows, target = torch.ones(2, 4), torch.zeros(2, dtype=torch.int64)
    for model in (nn.Linear(4, 3).requires_grad_(False), nn.Identity()):
        with pytest.raises(ValueError, match="no parameter of the model is trainable"):
            adopted(model, rows, target=target, mode="train")


def configured(**config: Any) -> dict[str, Any]:
    made = dict(adopted(nn.Linear(4, 3), torch.ones(2, 4), config=config).config)
    return {name: made[name] for name in config}


def test_a_config_takes_scalars_dtypes_and_devices() -> None:
    """As plain values, however deep they lie."""
    found = configured(
        scalars=[np.float32(1.5), np.int64(3), np.bool_(True), np.array(2), torch.tensor(0.5)],
        dtypes=(torch.float16, torch.bfloat16, np.float32, np.dtype("int8")),
        devices={"of": torch.device("cuda:1"), 3: None},
    )
    assert found == {
        "scalars": [1.5, 3, True, 2, 0.5],
        "dtypes": ["float16", "bfloat16", "float32", "int8"],
        "devices": {"of": "cuda:1", "3": None},
    }
    assert [type(value) for value in found["scalars"]] == [float, int, bool, int, float]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (torch.zeros(3), "'t': Tensor is no single plain value"),
        (object(), "'t': object is no single plain value"),
        ([1, {"a": np.zeros(2)}], "'t': ndarray is no single plain value"),
        (np.float32("nan"), "'t': Out of range float values"),
        (float("inf"), "'t': Out of range float values"),
        (1j, "'t': complex is no single plain value"),
        ({(1, 2): 3}, "'t': keys must be str"),
    ],
    ids=["tensor", "object", "nested", "nan", "inf", "complex", "key"],
)
def test_what_a_config_does_not_take_is_named(value: Any, says: str) -> None:
    """By its key, with what it takes."""
    with pytest.raises(ValueError, match=says + ".* Use texts, finite numbers, dtypes, devices"):
        configured(t=value)


def test_a_config_within_itself_is_refused() -> None:
    """It has no end."""
    config: dict[str, Any] = {}
    config["t"] = config
    with pytest.raises(ValueError, match="'t': Circular reference"):
        configured(**config)


@pytest.mark.parametrize("given", [{"target": torch.zeros(2)}, {"loss": nn.MSELoss()}, {"optimizer": torch.optim.SGD}])
def test_what_only_training_uses_is_refused_in_inference(given: dict[str, Any]) -> None:
    """It was most likely meant to train."""
    (name,) = given
    with pytest.raises(
        ValueError, match=rf"{name}=.*the mode is 'infer', which has no use for the {name}.*mode='train'"
    ):
        adopted(nn.Linear(4, 3), torch.ones(2, 4), **given)


def test_a_target_is_a_tensor() -> None:
    """Another kind is named."""
    with pytest.raises(TypeError, match="the target is a int; give a tensor"):
        adopted(nn.Linear(4, 3), torch.ones(2, 4), target=1, mode="train")


@pytest.mark.parametrize("given", [torch.optim.AdamW, torch.optim.AdamW(nn.Linear(4, 3).parameters())])
def test_an_optimiser_in_place_of_what_makes_it_is_refused(given: Any) -> None:
    """With what to write."""
    with pytest.raises(TypeError, match=r"lambda model: AdamW\(model.parameters\(\)\)"):
        adopted(nn.Linear(4, 3), torch.ones(2, 4), target=torch.zeros(2), optimizer=given, mode="train")


@pytest.mark.parametrize(("dtype", "keeps"), [(torch.float16, "precision='fp16' to keep it"), (torch.float64, "given")])
def test_a_model_in_another_dtype_is_not_converted_unasked(dtype: torch.dtype, keeps: str) -> None:
    """Its time would be that of fp32; asked, it is converted."""
    model = nn.Linear(4, 3, dtype=dtype)
    with pytest.raises(ValueError, match=f"weight of the model is .*{keeps}.*precision='fp32' to convert it"):
        adopted(model, torch.ones(2, 4))
    assert adopted(model, torch.ones(2, 4), precision="fp32").model.weight.dtype == torch.float32  # type: ignore[union-attr]
