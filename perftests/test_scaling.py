"""One training on several ranks: ``torchrun --nproc-per-node 2 -m pytest perftests/test_scaling.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from perftests import suite
from perftests.sharing import share
from pytest_roofline.parallel import links, torchrun

if TYPE_CHECKING:
    from pytest_roofline.fixture import Roofline
    from pytest_roofline.workload.step import Workload


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_scaling:
        metafunc.parametrize("case", suite.parameters(metafunc.config, "scaling"), indirect=True)
    else:
        names = links.NAMES if torchrun.several() is not None else ()
        metafunc.parametrize("case", [f"roof-{name}" for name in names])


@pytest.mark.roofs
def test_link(case: str, roofline: Roofline) -> None:
    """Bus bandwidth of an all-reduce between all ranks, by the size of its message."""
    roofline.roof(case.removeprefix("roof-"))


@pytest.mark.usefixtures("case")
def test_scaling(workload: Workload, warm_up: int | None, roofline: Roofline, request: pytest.FixtureRequest) -> None:
    """An optimiser step of all ranks together, each with a batch of this size."""
    strategy = suite.prepare(request.config).values["strategy"]
    shared = workload if torchrun.several() is None else share(workload, strategy)
    roofline.run(shared, request.node.callspec.id, replace(roofline.plan, warmup_steps=warm_up))
