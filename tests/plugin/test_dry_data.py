"""Data that ends before the measurement does: what is kept of it, and what is said."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline import bench
from pytest_roofline.workload.step import ReadyBatches, Step
from roofline.schema.record import Record
from tests.plugin.fake_run import STEP_S, WINDOW, Waiting, run_on, timing_of, workload
from tests.plugin.measuring.fakes import Lab


class Finite(Waiting):
    """Batches of a loader that has so many and no more."""

    def __init__(self, lab: Lab, count: int) -> None:
        super().__init__(lab, [((torch.ones(4, 5),), torch.tensor([0, 1, 2, 0]))])
        self._left = count

    def next(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        if not self._left:
            raise StopIteration
        self._left -= 1
        return super().next()


def measured(lab: Lab, count: int, **changes: Any) -> Record:
    return bench.measure_workload(run_on(lab), workload(lab, batches=Finite(lab, count), **changes), "case", WINDOW)[0]


def statuses(record: Record) -> dict[str, str]:
    return {check.name: check.status for check in record.checks}


def data_of(record: Record) -> str:
    return next(check.evidence for check in record.checks if check.name == "data")


def test_data_that_lasts_is_proven(lab: Lab) -> None:
    """How many batches there were, and how long a step waited for one."""
    record = measured(lab, 1000)
    assert statuses(record)["data"] == "passed"
    # Two of warm-up, four timed, one that is observed.
    assert data_of(record) == "7 batches were delivered; waited 25.0% of a step"
    assert record.valid


def test_data_that_ends_before_the_step_that_is_observed_makes_the_row_invalid(lab: Lab) -> None:
    """The rounds are complete and kept. What needed one step more isn't made, and isn't passed."""
    record = measured(lab, 6)
    assert timing_of(record).step_time_s == STEP_S
    assert statuses(record) == {
        "device": "not_made",
        "kernels": "not_made",
        "precision": "not_made",
        "graphs": "passed",
        "optimizer_steps": "passed",
        "finite": "passed",
        "data": "failed",
    }
    reason = "the data ended after 6 batches, after the timed rounds, before the step to observe"
    assert data_of(record) == record.missing["work"] == reason
    assert record.work is None
    assert [flag.name for flag in record.flags if flag.invalid] == ["data_disproved"]


def test_data_that_ends_in_the_single_steps_makes_the_row_invalid(lab: Lab) -> None:
    """Latency is missing with the reason; the rounds are there."""
    record = measured(lab, 9, mode="infer")
    assert record.missing["timing.latency"] == data_of(record)
    assert data_of(record) == "the data ended after 9 batches, in the single steps after the timed rounds"
    assert timing_of(record).step_time_s == STEP_S
    assert not record.valid


def test_a_model_that_stops_an_iteration_is_not_taken_for_data_that_ended() -> None:
    """``next(self.parameters())`` of a model without any is its own mistake."""

    class Empty(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return inputs.to(next(self.parameters()).device)

    lab = Lab(STEP_S)
    batches = ReadyBatches([((torch.ones(4, 5),), None)])
    step = Step(workload(lab, Empty(), batches=batches, mode="infer"))
    with pytest.raises(StopIteration):
        step()
