"""Every model x batch x precision of the matrix, in training and inference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perftests.matrix import CaseSpec
    from pytest_roofline.fixture import Roofline
    from pytest_roofline.workload.step import Workload


def test_train(case: CaseSpec, workload: Workload, warm_up: int | None, roofline: Roofline) -> None:
    """An optimiser step: forward, loss, backward, SGD with momentum."""
    roofline.run(workload, case.id, replace(roofline.plan, warmup_steps=warm_up))


def test_infer(case: CaseSpec, workload: Workload, warm_up: int | None, roofline: Roofline) -> None:
    """A forward pass under inference_mode."""
    roofline.run(workload, case.id, replace(roofline.plan, warmup_steps=warm_up))
