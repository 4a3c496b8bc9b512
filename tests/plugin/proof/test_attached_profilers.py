"""What looks on while steps are timed makes the row invalid, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from pytest_roofline import bench
from pytest_roofline.proof.attached_profilers import INJECTION, attached, profilers
from roofline.schema.record import Case
from tests.plugin.fake_run import WINDOW, run_on, workload
from tests.plugin.foreign import MEASURES, QUICK
from tests.plugin.measuring.fakes import Lab


class Looking(TorchFunctionMode):
    """One that a project wrote."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_modes_are_named() -> None:
    """Those of dispatch and those of functions; gone once they are left."""
    with FlopCounterMode(display=False), Looking():
        (flag,) = attached()
    assert (flag.name, flag.invalid) == ("measured_under_mode", True)
    assert "FlopCounterMode" in flag.evidence
    assert "Looking" in flag.evidence
    assert attached() == ()


@pytest.mark.parametrize("kineto", [True, False])
def test_a_profiler_is_seen(kineto: bool) -> None:
    """The old one too."""
    with torch.autograd.profiler.profile(use_kineto=kineto):
        (flag,) = attached()
    assert (flag.name, flag.invalid) == ("measured_under_profiler", True)


def test_a_default_device_is_none_of_them() -> None:
    """torch keeps it as a mode, but it belongs to the program."""
    with torch.device("cpu"):
        assert attached() == ()


def test_a_row_measured_under_a_mode_is_invalid(lab: Lab) -> None:
    """It is measured all the same."""
    with Looking():
        record, _ = bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    assert [flag.name for flag in record.flags if flag.invalid] == ["measured_under_mode"]
    record, _ = bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    assert record.valid


@pytest.mark.parametrize(
    ("variable", "profiler"),
    [
        ("NSYS_PROFILING_SESSION_ID", "Nsight Systems"),
        ("NV_NSIGHT_INJECTION_PORT_BASE", "Nsight Compute"),
        ("NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "Nsight Compute"),
        ("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"),
        ("NVPROF_ID", "nvprof"),
    ],
)
def test_a_profiler_around_the_process_is_named(variable: str, profiler: str) -> None:
    """By what it gave to the process, rather than by what it has CUDA load."""
    (flag,) = profilers({"PATH": "/usr/bin", INJECTION: "libmonitor.so", variable: "1"})
    assert (flag.name, flag.invalid) == ("profiled", True)
    assert f"ran under {profiler} ({variable} was set)" in flag.evidence


def _mapped(tmp_path: Path, *libraries: str) -> Path:
    """What Linux lists for a process that has loaded these."""
    maps = tmp_path / "maps"
    maps.write_text("".join(f"7f0000000000-7f0000001000 r-xp 00000000 08:01 77    {one}\n" for one in libraries))
    return maps


@pytest.mark.parametrize(
    ("library", "told"),
    [
        ("/opt/nsys/libToolsInjection64.so", "this process ran under Nsight Systems (CUDA_INJECTION64_PATH names"),
        ("/opt/ncu/libcuda-injection.so", "this process ran under Nsight Compute (CUDA_INJECTION64_PATH names"),
        ("/opt/site/libmonitor.so", "CUDA loads libmonitor.so into this process (CUDA_INJECTION64_PATH names it)"),
    ],
)
def test_a_library_that_cuda_has_loaded_may_record(tmp_path: Path, library: str, told: str) -> None:
    """A profiler's own is told as such; of another that isn't known, and the row is invalid as well."""
    (flag,) = profilers({INJECTION: library}, _mapped(tmp_path, "/usr/lib/libc.so.6", library))
    assert (flag.name, flag.invalid) == ("profiled", True)
    assert flag.evidence.startswith(told)
    assert "/opt" not in flag.evidence


def test_where_it_can_not_be_seen_the_library_is_taken_to_be_loaded(tmp_path: Path) -> None:
    """By its file behind a link; without a folder, in any; without a list of what is mapped."""
    library, link = tmp_path / "libmonitor.so.1", tmp_path / "libmonitor.so"
    link.symlink_to(library)
    assert profilers({INJECTION: str(link)}, _mapped(tmp_path, str(library)))
    assert profilers({INJECTION: "libmonitor.so"}, _mapped(tmp_path, "/opt/site/libmonitor.so.1"))
    assert profilers({INJECTION: str(link)}, tmp_path / "none")


def test_it_is_said_once_for_all_rows(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line with what to do, beside the tests, each of which fails."""
    monkeypatch.setenv(INJECTION, "libtorch_cpu.so")  # one that the process has
    other = "\n    def test_other(roofline):\n        roofline(nn.Linear(8, 4), torch.ones(1, 8))\n"
    project.makepyfile(MEASURES + other)
    run = project.runpytest_subprocess(*QUICK)
    run.assert_outcomes(failed=2)
    told = "2 of 2 rows are no measurement: CUDA loads libtorch_cpu.so into this process *"
    run.stdout.fnmatch_lines(["*= roofline =*", f"{told} Measure with that variable unset."])
    assert run.stdout.str().count("rows are no measurement") == 1


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"NSYS_PROFILING_SESSION_ID": ""},
        {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1"},  # a user's setting of ncu
        {INJECTION: "/opt/site/libmonitor.so"},  # set for good by a cluster, and not loaded on a CPU
        {INJECTION: "libmonitor.so"},
    ],
)
def test_no_profiler_is_at_work(tmp_path: Path, environment: dict[str, str]) -> None:
    """An empty variable and the settings of a profiler that doesn't run are no profiler."""
    assert profilers(environment, _mapped(tmp_path, "/usr/lib/libc.so.6")) == ()


def test_every_row_of_a_profiled_process_is_invalid(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases and loaders alone; roofs are made by the same function."""
    monkeypatch.setenv("NSYS_PROFILING_SESSION_ID", "4711")
    loader = Case(
        id="input", workload_hash="x", model="input", mode="input", precision="fp32", batch=4, samples_per_step=4
    )
    records = [
        bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)[0],
        bench.measure_input(run_on(lab, 1.0), lab.step, loader)[0],
    ]
    assert [[flag.name for flag in record.flags if flag.invalid] for record in records] == [["profiled"]] * 2
