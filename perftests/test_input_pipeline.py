"""Does input bound the step? The loader alone, and one step fed by real images, by FakeData and by ready tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from perftests import suite
from pytest_roofline.workload.step import workload_hash
from roofline.schema.record import Case

if TYPE_CHECKING:
    from perftests.matrix import CaseSpec
    from pytest_roofline.fixture import Roofline
    from pytest_roofline.workload.step import Batches, Workload


BUDGET_S = 5.0
"""Timed rounds of a fed step: losses of some percent are looked for, not of one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parameters = suite.parameters(metafunc.config, "input")
    if metafunc.function is test_loader_alone:
        # Ready tensors need no loader.
        parameters = [parameter for parameter in parameters if not str(parameter.id).endswith("-ready")]
    metafunc.parametrize("case", parameters, indirect=True)


def test_loader_alone(case: CaseSpec, dataloader: Batches, roofline: Roofline, request: pytest.FixtureRequest) -> None:
    """As many images a second as the loader delivers when nobody computes."""
    config = suite.prepare(request.config).loader(case).options.describe()
    data = suite.prepare(request.config).data_of(case).label
    roofline.feed(
        dataloader.next,
        Case(
            id=request.node.callspec.id.replace("input-", "loader-", 1),
            workload_hash=workload_hash({"loader": config, "data": data, "batch": case.batch, "dtype": case.precision}),
            model="loader",
            mode="input",
            precision=case.precision,
            batch=case.batch,
            samples_per_step=case.batch,
            sample_unit="image",
            data=data,
            config=config,
        ),
    )


@pytest.mark.usefixtures("case")
def test_step_fed(workload: Workload, warm_up: int | None, roofline: Roofline, request: pytest.FixtureRequest) -> None:
    """The same step, fed by each source: how much slower than on ready tensors, and how long it waits."""
    plan = replace(roofline.plan, warmup_steps=warm_up, max_time_s=min(BUDGET_S, roofline.plan.max_time_s))
    workload = replace(workload, setting={**workload.setting, "test": "input_pipeline"})
    roofline.run(workload, request.node.callspec.id, plan)
