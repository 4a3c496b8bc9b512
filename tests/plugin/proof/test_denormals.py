"""Denormal numbers in what a step holds: a flag that leaves the row valid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline import bench
from pytest_roofline.proof import denormals
from pytest_roofline.workload.step import ReadyBatches, Step
from tests.plugin.fake_run import STEP_S, WINDOW, run_on, workload
from tests.plugin.measuring.fakes import Lab

DENORMAL = 1e-39


def step_of(model: nn.Module | None = None, **changes: Any) -> Step:
    lab = Lab(STEP_S)
    made = workload(lab, mode="infer", loss=None, optimizer=None, **changes)
    return Step(made if model is None else replace(made, model=model))


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([1.0, 0.0, -0.0, float("inf")], 0.0),
        ([1.0, DENORMAL, -DENORMAL, 0.0], 0.5),
        ([torch.finfo(torch.float32).tiny, DENORMAL], 0.5),
        ([], 0.0),
    ],
)
def test_the_share_is_of_all_elements(values: list[float], share: float) -> None:
    """Zero is none, nor is the smallest normal number."""
    assert denormals.denormal_share(torch.tensor(values)) == share


def test_every_part_of_a_tensor_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its layout."""
    monkeypatch.setattr(denormals, "_AT_ONCE", 2)
    assert denormals.denormal_share(torch.tensor([[1.0, DENORMAL, 1.0], [1.0, 1.0, DENORMAL]]).T) == 1 / 3


@pytest.mark.parametrize(
    ("dtype", "value", "share"),
    [
        (torch.float64, 1e-310, 1.0),
        (torch.float64, DENORMAL, 0.0),
        (torch.bfloat16, DENORMAL, 1.0),
        (torch.float16, 1e-7, 0.0),
        (torch.int64, 1, 0.0),
    ],
)
def test_what_is_denormal_depends_on_the_dtype(dtype: torch.dtype, value: float, share: float) -> None:
    """A CPU computes fp16 in fp32, in which its smallest numbers are normal."""
    assert denormals.denormal_share(torch.full((3,), value, dtype=dtype)) == share


def test_tensors_that_are_not_dense_are_passed_over() -> None:
    """A sparse gradient must not lose the row."""
    assert denormals.denormal_share(torch.full((2, 2), DENORMAL).to_sparse()) == 0.0


@pytest.fixture
def flushing() -> Iterator[None]:
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU can't take denormal numbers for zero")
    yield
    torch.set_flush_denormal(False)


@pytest.mark.usefixtures("flushing")
def test_where_they_are_taken_for_zero_there_are_none() -> None:
    """They cost nothing then."""
    assert denormals.denormal_share(torch.full((4,), DENORMAL)) == 0.0


def test_the_flag_names_what_holds_most() -> None:
    """And how many others there are."""
    model = nn.BatchNorm1d(4)
    assert isinstance(model.running_mean, Tensor)
    model.running_mean.fill_(DENORMAL)
    flag = denormals.denormals(step_of(model), {"images": torch.tensor([1.0, DENORMAL]), "length": 2})
    assert flag is not None
    assert (flag.name, flag.invalid) == ("denormals", False)
    assert flag.evidence.startswith(
        "100% of buffer running_mean are denormal numbers, and more than 1% of 1 other tensor"
    )


def test_parameters_and_gradients_are_looked_at() -> None:
    """Weights that decay and gradients that vanish."""
    model = nn.Linear(2, 2, bias=False)
    model.weight.grad = torch.full((2, 2), DENORMAL)
    flag = denormals.denormals(step_of(model), [])
    assert flag is not None
    assert flag.evidence.startswith("100% of the gradient of weight are denormal numbers: ")


def test_normal_numbers_and_other_devices_have_no_flag() -> None:
    """A GPU computes with denormal numbers as fast as with others."""
    assert denormals.denormals(step_of(), [torch.randn(4)]) is None
    assert denormals.denormals(step_of(device=torch.device("mps")), [torch.full((4,), DENORMAL)]) is None


def test_a_case_on_denormal_inputs_is_measured_and_flagged(lab: Lab) -> None:
    """Valid, for that is how long it takes."""
    batches = ReadyBatches([((torch.full((4, 5), DENORMAL),), torch.tensor([0, 1, 2, 0]))])
    record, _ = bench.measure_workload(run_on(lab), workload(lab, batches=batches), "case", WINDOW)
    (flag,) = (flag for flag in record.flags if flag.name == "denormals")
    assert flag.evidence.startswith("100% of input 0 are denormal numbers")
    assert record.valid
