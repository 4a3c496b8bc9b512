"""What looks on while steps are timed makes the row invalid, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from pytest_roofline import bench
from pytest_roofline.fixture import Disproved, judge
from pytest_roofline.onlookers import onlookers
from tests.plugin.fake_run import WINDOW, run_on, workload
from tests.plugin.measuring.fakes import Lab


class Looking(TorchFunctionMode):
    """One that a project wrote."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_modes_are_named() -> None:
    """Those of dispatch and those of functions; gone once they are left."""
    with FlopCounterMode(display=False), Looking():
        (flag,) = onlookers()
    assert (flag.name, flag.invalid) == ("measured_under_mode", True)
    assert "FlopCounterMode" in flag.evidence
    assert "Looking" in flag.evidence
    assert onlookers() == ()


@pytest.mark.parametrize("kineto", [True, False])
def test_a_profiler_is_seen(kineto: bool) -> None:
    """The old one too."""
    with torch.autograd.profiler.profile(use_kineto=kineto):
        (flag,) = onlookers()
    assert (flag.name, flag.invalid) == ("measured_under_profiler", True)


def test_a_default_device_is_no_onlooker() -> None:
    """torch keeps it as a mode, but it belongs to the program."""
    with torch.device("cpu"):
        assert onlookers() == ()


def test_a_row_measured_under_a_mode_is_invalid(lab: Lab) -> None:
    """It is measured all the same."""
    with Looking():
        record, _, _ = bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    assert [flag.name for flag in record.flags if flag.invalid] == ["measured_under_mode"]
    record, _, _ = bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    assert record.valid


def test_its_test_fails(lab: Lab) -> None:
    """A row that is no measurement is no passed test."""
    with Looking():
        record, _, _ = bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    with pytest.raises(Disproved, match=r"measured_under_mode: torch modes were active .*Looking"):
        judge(record)
