"""What looks on while steps are timed makes the row invalid, and nothing else does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from pytest_roofline import bench, plain_bench
from pytest_roofline.fixture import Disproved, judge
from pytest_roofline.onlookers import onlookers, profilers
from roofline.record import Case
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


@pytest.mark.parametrize(
    ("variable", "profiler"),
    [
        ("NSYS_PROFILING_SESSION_ID", "Nsight Systems"),
        ("NV_NSIGHT_INJECTION_PORT_BASE", "Nsight Compute"),
        ("NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight Compute"),
        ("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"),
        ("NVPROF_ID", "nvprof"),
        ("CUDA_INJECTION64_PATH", "a tool that CUDA loads into the process"),
    ],
)
def test_a_profiler_around_the_process_is_named(variable: str, profiler: str) -> None:
    """By what it gave to the process, which the evidence shows."""
    (flag,) = profilers({"PATH": "/usr/bin", variable: "1"})
    assert (flag.name, flag.invalid) == ("profiled", True)
    assert f"ran under {profiler} ({variable} was set)" in flag.evidence


def test_the_profiler_is_told_rather_than_what_it_loads() -> None:
    """Nsight Systems is loaded by CUDA as well: one flag, by its own name."""
    (flag,) = profilers({"CUDA_INJECTION64_PATH": "/opt/nsys/libToolsInjection64.so", "NSYS_PROFILING_SESSION_ID": "7"})
    assert "Nsight Systems" in flag.evidence


@pytest.mark.parametrize(
    "environment",
    [{}, {"NSYS_PROFILING_SESSION_ID": ""}, {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1"}],
    ids=["nothing", "empty", "a user's setting of ncu"],
)
def test_no_profiler_is_at_work(environment: dict[str, str]) -> None:
    """An empty variable and the settings of a profiler that doesn't run are no profiler."""
    assert profilers(environment) == ()


def test_every_row_of_a_profiled_process_is_invalid(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases and loaders alone; roofs are made by the same function."""
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "4711")
    loader = Case(
        id="input", workload_hash="x", model="input", mode="input", precision="fp32", batch=4, samples_per_step=4
    )
    records = [
        bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)[0],
        plain_bench.measure_input(run_on(lab, 1.0), lab.step, loader)[0],
    ]
    assert [[flag.name for flag in record.flags if flag.invalid] for record in records] == [["profiled"]] * 2
