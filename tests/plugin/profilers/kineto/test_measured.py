"""The profiler's pass as a part of a measurement: what the record says."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pytest_roofline import bench
from pytest_roofline.missing import unexplained
from pytest_roofline.workload.step import sgd
from roofline.schema.record import Record
from tests.plugin.fake_run import WINDOW, Ticking, run_on, workload
from tests.plugin.measuring.fakes import Lab


def forgotten(record: Record) -> list[str]:
    """Values without a reason, apart from what the stand-in for a machine doesn't know of its device."""
    return [path for path in unexplained(record) if not path.startswith("device.")]


class PartlyCompiled(Ticking):
    """A model that compiles a part of itself, in a case that asks for no compiling."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self._square = torch.compile(torch.square, backend="eager")

    def forward(self, inputs: Tensor) -> Tensor:
        squared: Tensor = self._square(super().forward(inputs))
        return squared


def test_a_model_with_compiled_parts_is_profiled_as_it_was_timed(lab: Lab) -> None:
    """Its operations run fused in the timed step: times of the same ones run singly would be of another step."""
    torch.compiler.reset()
    model = PartlyCompiled(lab)
    inference = workload(lab, model=model, mode="infer", loss=None, optimizer=None)
    record, _ = bench.measure_workload(run_on(lab), inference, "case", WINDOW)
    torch.compiler.reset()
    assert record.profile is not None
    assert record.profile.outside
    assert record.operations
    assert all(operation.time_s is None for operation in record.operations)
    assert record.missing["operations.time_s"].startswith("a compiled step runs fused kernels")
    assert forgotten(record) == []


def test_a_measurement_beside_another_profiler_keeps_its_row(lab: Lab) -> None:
    """Everything but the operations' times is there, and they have a reason; it is no measurement of the step alone."""
    with torch.autograd.profiler.profile(use_kineto=True):
        record, _ = bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    assert [flag.name for flag in record.flags if flag.invalid] == ["measured_under_profiler"]
    assert record.operations
    assert record.profile is None
    busy = "no step could be taken under torch's profiler: another torch profiler is at work"
    assert record.missing["profile"] == record.missing["operations.time_s"] == busy
    assert forgotten(record) == []


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_nothing_is_unexplained(lab: Lab, mode: str) -> None:
    """A measured row has a reason for every value that it lacks."""
    inference = {"mode": "infer", "loss": None, "optimizer": None} if mode == "infer" else {}
    record, _ = bench.measure_workload(run_on(lab), workload(lab, **inference), "case", WINDOW)
    assert record.profile is not None
    assert forgotten(record) == []


def test_a_step_that_fails_under_the_profiler_keeps_its_proofs(lab: Lab) -> None:
    """It left no gradients; those of the step before were there, and are what the device is proven by."""

    class Refusing(Ticking):
        def forward(self, inputs: Tensor) -> Tensor:
            if torch._C._autograd._profiler_enabled():
                raise LookupError("not under a profiler")
            return super().forward(inputs)

    model = Refusing(lab)
    record, _ = bench.measure_workload(run_on(lab), workload(lab, model=model, optimizer=sgd(model)), "case", WINDOW)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert {check.name: check.status for check in record.checks}["device"] == "passed"
    assert record.work is not None
    assert record.profile is None
    assert "not under a profiler" in record.missing["profile"]
