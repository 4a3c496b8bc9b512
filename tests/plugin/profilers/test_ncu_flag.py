"""``--ncu`` on pytest's command line, on a CPU that stands in for a GPU and with a stand-in for ncu."""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import psutil
import pytest

from roofline.schema.record import Counters
from tests.plugin.foreign import MEASURES, NOBODY_ELSE, QUICK, records, results
from tests.plugin.profilers.stubs import Stubs

KEPT = ("--roofline-results", "results")

ON_A_CPU = """
    from pytest_roofline.profilers.ncu import counting_pass
    counting_pass.COUNTED_KINDS = ("cpu",)
"""


@pytest.fixture
def stubs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    """The only ncu there is."""
    stubs = Stubs(tmp_path_factory.mktemp("bin"))
    monkeypatch.setenv("ROOFLINE_NCU", str(stubs.folder / "ncu"))
    return stubs


@pytest.fixture
def counted(project: pytest.Pytester) -> pytest.Pytester:
    """A project on a CPU that ncu counts on."""
    project.makeconftest(ON_A_CPU)
    return project


def test_a_step_is_counted_after_its_test_and_nothing_else_changes(
    counted: pytest.Pytester, stubs: Stubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the test is called and however the run was selected: the counters stand in the record of its timing, in
    the only results file, and the run's own reports have each test once.
    """
    stubs.ncu("ok", "crash", "lock")  # the check before the run, that of the unit, and the two runs of the case
    counted.makepyfile(
        test_it=MEASURES
        + """
    @pytest.mark.train
    @pytest.mark.parametrize("what", ["a b-é"])
    def test_named(roofline, what):
        assert roofline(nn.Linear(8, 4), torch.randn(2, 8)).timing is not None
"""
    )
    monkeypatch.setenv("PYTEST_ADDOPTS", "-m 'train and cpu'")
    run = counted.runpytest_subprocess(
        *QUICK, *KEPT, "--roofline-ncu", "-n0", "-k", "named or mine", "--junit-xml", "out.xml"
    )
    assert (run.ret, run.parseoutcomes()) == (0, {"passed": 1, "deselected": 1})
    ((name, record),) = records(results(counted)).items()
    assert name.startswith("test_named[a b-")
    assert record.valid
    assert record.timing is not None
    counters = record.counters
    assert counters is not None
    assert (counters.status, counters.reason, counters.unit_check) == ("ok", None, None)
    assert "its process ended with exit code -9 before the step" in record.missing["counters.unit_check"]
    assert (counters.context_byte, record.missing["counters.context_byte"]) == (None, "not read for cpu")
    assert counters.source is not None
    assert counters.source.startswith("ncu 2025.3.1")
    # Two kernels, each of 4096 byte by every counter of bytes and 1024 of every instruction and tensor operation.
    assert (counters.dram_byte, counters.dram_read_byte, counters.l2_byte) == (4 * 4096, 2 * 4096, 2 * 4096)
    assert counters.flop == 2 * 1024 * (4 + 4 + 8 + 10)
    assert counters.time_s == pytest.approx(4e-6)
    assert (counters.passes, counters.flop_passes) == (1, 1)
    assert {kernel.name for kernel in counters.kernels} == {"void gemm<float, 256>(int, char*)", "relu(float*)"}
    assert counters.metrics["dram_read_byte"] == "dram__bytes_read.sum"
    assert [case.get("name") for case in ElementTree.parse(counted.path / "out.xml").iter("testcase")] == [name]
    calls = stubs.calls("ncu")
    assert len(calls) == 4
    assert not [variable for call in calls[1:] for variable in call.environment if variable.startswith("PYTEST_")]
    run.stdout.fnmatch_lines(["ncu 2025.3.1*: usable (*", "test_it.py .*", "*= roofline =*", "ncu: 1 case(s) ok"])


def test_without_permission_the_run_goes_on_and_is_told_once(counted: pytest.Pytester, stubs: Stubs) -> None:
    """Timing is kept, every counter is null, and there is one sentence for two tests, before the first."""
    stubs.ncu("permission_on_stdout")
    counted.makepyfile(
        MEASURES + "\n    def test_other(roofline):\n        roofline(nn.Linear(8, 4), torch.ones(1, 8))\n"
    )
    run = counted.runpytest_subprocess(*QUICK, *KEPT, "--roofline-ncu")
    assert run.ret == 0
    found = records(results(counted)).values()
    assert len(found) == 2
    for record in found:
        assert record.timing is not None
        assert record.counters is not None
        assert record.counters.reason is not None
        assert record.counters == Counters(status="permission_denied", reason=record.counters.reason)
    assert run.stdout.str().count("permission_denied") == 1
    run.stdout.fnmatch_lines(["collected 2 items", "ncu 2025.3.1*: permission_denied: *", "test_*.py ..*"])
    assert len(stubs.calls("ncu")) == 1


def test_required_counters_that_can_not_be_had_end_the_run_before_any_test(
    counted: pytest.Pytester, stubs: Stubs
) -> None:
    """Exit code 4, the reason, and no results."""
    stubs.ncu("permission")
    counted.makepyfile("def test_it(roofline): open('ran', 'w')")
    run = counted.runpytest_subprocess(*QUICK, *KEPT, "--roofline-ncu=require")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: --roofline-ncu: counters are required. ncu 2025.3.1*: permission_denied: *"])
    assert not (counted.path / "ran").exists()
    assert not (counted.path / "results").exists()


def test_on_a_cpu_there_are_no_counters(project: pytest.Pytester, stubs: Stubs) -> None:
    """Though the ncu that is named would work: the reason is the device. No case is repeated."""
    stubs.ncu()
    project.makepyfile(MEASURES)
    elsewhere = Stubs(project.path / "elsewhere").ncu(version="Nsight Compute\nVersion 7.1")
    run = project.runpytest_subprocess(*QUICK, *KEPT, "--roofline-ncu", "--roofline-ncu-path", str(elsewhere))
    assert run.ret == 0
    (record,) = records(results(project)).values()
    assert record.counters == Counters(
        status="unsupported_platform", reason="ncu counts on NVIDIA GPUs; this run measures cpu"
    )
    run.stdout.fnmatch_lines(["ncu 7.1: unsupported_platform: ncu counts on NVIDIA GPUs; this run measures cpu"])
    assert stubs.calls("ncu") == []


@pytest.mark.usefixtures("forked_children")
def test_each_session_of_a_set_is_counted(counted: pytest.Pytester, stubs: Stubs) -> None:
    """The process that only starts them asks nothing."""
    stubs.ncu("permission")
    counted.makeconftest(ON_A_CPU + NOBODY_ELSE)
    counted.makepyfile(MEASURES)
    run = counted.runpytest_subprocess(*QUICK, *KEPT, "--roofline-ncu", "--roofline-sessions", "2")
    assert run.ret == 0
    assert len(stubs.calls("ncu")) == len(list((counted.path / "results").rglob("*.json"))) == 2


def test_a_path_behind_the_flag_is_not_taken_for_its_value(project: pytest.Pytester) -> None:
    """The run is refused, with what to write: without the path it would be another run."""
    project.makepyfile(test_it=MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--roofline-ncu", "test_it.py")
    assert run.ret == 4
    run.stderr.fnmatch_lines(
        [
            "ERROR: --roofline-ncu: 'test_it.py' is not allowed: write =require behind the flag, or put the flag "
            "behind the paths, for it takes the word that follows it"
        ]
    )


def test_where_nothing_is_measured_nothing_can_be_counted(project: pytest.Pytester) -> None:
    """The two flags contradict each other."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--roofline-ncu", "--benchmark-disable")
    assert run.ret == 4
    run.stderr.fnmatch_lines(
        ["ERROR: --benchmark-disable: nothing would be measured, so --roofline-ncu could count nothing. Leave one out."]
    )


HELD = """
    import weakref
    from pathlib import Path
    import pytest, torch
    from pytest_roofline.profilers.ncu import case_counter as ncu_case
    from pytest_roofline.profilers.ncu import counting_pass
    from pytest_roofline.profilers.diagnosis import Diagnosis
    from roofline.schema.record import Counters

    made, over = [], []

    @pytest.fixture
    def model():
        model = torch.nn.Linear(8, 4)
        made.append(weakref.ref(model))
        yield model

    def count(*_):
        alive = sum(one() is not None for one in made)
        return Counters(status="failed", reason=f"{alive} of {len(made)} models are alive, {len(over)} test over")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol():
        result = yield
        over.append(True)
        return result

    counting_pass.preflight = lambda *_: Diagnosis(name="ncu", status="ok", why="", path=Path("ncu"))
    ncu_case.CaseCounter.unit_check = lambda *_: 1.0
    ncu_case.CaseCounter.count = count
"""


def test_the_device_is_free_while_the_other_process_counts(project: pytest.Pytester) -> None:
    """Neither fixtures nor arguments, nor what the test made itself, are held any more; and what other plugins do
    around a test, such as a time limit, is over.
    """
    project.makeconftest(HELD)
    project.makepyfile(
        """
    import torch, weakref
    from conftest import made

    def test_it(roofline, model):
        own = torch.nn.Sequential(model, torch.nn.ReLU())
        made.append(weakref.ref(own))
        roofline(own, torch.randn(2, 8))
"""
    )
    run = project.runpytest_subprocess(*QUICK, *KEPT, "--roofline-ncu")
    run.assert_outcomes(passed=1)
    (record,) = records(results(project)).values()
    assert record.counters is not None
    assert record.counters.reason == "0 of 2 models are alive, 1 test over"


def test_a_terminated_run_takes_its_processes_and_folders_along(
    counted: pytest.Pytester, stubs: Stubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While ncu hangs in a case; the run itself ends as by Ctrl-C."""
    stubs.ncu("ok", "crash", "hang")
    temporary = counted.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    counted.makepyfile(MEASURES)
    command = [sys.executable, "-m", "pytest", *QUICK, *KEPT, "--roofline-ncu"]
    run = counted.popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while len(stubs.calls("ncu")) < 3:
            assert run.poll() is None
            time.sleep(0.01)
        hanging = psutil.Process(stubs.calls("ncu")[-1].pid)
        started = [hanging, *hanging.children(recursive=True)]
        assert list(temporary.glob("roofline-ncu-*"))
        run.terminate()
        assert run.wait(60) == pytest.ExitCode.INTERRUPTED
    finally:
        run.kill()
        run.wait()
    _, left = psutil.wait_procs(started, timeout=30)
    assert [one for one in left if one.status() != psutil.STATUS_ZOMBIE] == []
    assert list(temporary.glob("roofline-ncu-*")) == []
